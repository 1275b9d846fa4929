"""The way from waiting episodes to facts and rules, and every way in which it can fail."""

import asyncio
import json
from datetime import timedelta

import asyncpg
import pytest
from memory_consolidate import requeue, run_consolidation
from memory_consolidate.claims import choose_batch
from memory_core import InvalidInputError, forget_memory, store_fact, store_rule
from memory_core.config import ConsolidationConfig
from memory_core.database import open_pool
from memory_core.spawning import SpawnerResult

STATES = "SELECT content, consolidation_status, consolidation_attempts FROM episodes ORDER BY created_at, id"
FACTS = "SELECT subject, predicate, content FROM facts WHERE validity = 'active' ORDER BY subject, predicate, content"


async def test_episodes_become_facts_and_rules_linked_to_their_evidence(pool, embedder, model, tell, rows, now):
    ids = await tell("FACT user | city | Paris", "small talk", "RULE Greet in French.")
    report = await run_consolidation(pool, embedder, model, now=now)
    assert report.counts() == {
        "episodes_waiting": 3,
        "groups": 1,
        "batches": 1,
        "episodes_consolidated": 3,
        "episodes_failed": 0,
        "dead_letters": 0,
        "facts_created": 1,
        "facts_updated": 0,
        "rules_created": 1,
        "confirmations": 0,
        "links_created": 2,
        "input_tokens": 100,
        "output_tokens": 10,
        "errors": 0,
    }
    assert await rows(FACTS) == [("user", "city", "Paris")]
    linked = await rows("SELECT source_type, target_id, relation FROM memory_links ORDER BY source_type")
    assert linked == [("fact", ids[0], "derived_from"), ("rule", ids[2], "derived_from")]
    assert {state for _, state, _ in await rows(STATES)} == {"consolidated"}


@pytest.mark.scenario("Episode grouping and prompt construction")
async def test_each_butler_s_prompt_has_its_episodes_in_order_and_what_it_knows(pool, embedder, model, tell, now):
    await store_fact(pool, "user", "city", "Paris", embedder, now=now)
    await store_fact(pool, "user", "desk", "left", embedder, scope="work", now=now)
    await store_fact(pool, "user", "secret", "theirs", embedder, tenant_id="else", now=now)
    await store_rule(pool, "Greet in French.", embedder, now=now)
    await store_rule(pool, "Do as theirs do.", embedder, tenant_id="else", now=now)
    hidden = await store_rule(pool, "Never mind.", embedder, now=now)
    await forget_memory(pool, "rule", hidden, now=now)
    await tell("first", "second", butler="home", at=now - timedelta(hours=1))
    await tell("elsewhere", butler="work")
    await tell("foreign", tenant_id="else")
    await run_consolidation(pool, embedder, model, now=now)
    home, work = model.prompts
    assert home.index("\nfirst\n") < home.index("\nsecond\n")
    assert "elsewhere" not in home
    assert "foreign" not in home
    for text, in_home, in_work in [
        ('"content": "Paris"', True, True),
        ('"content": "left"', False, True),
        ("theirs", False, False),
        ("Greet in French.", True, True),
        ("Never mind.", False, False),
    ]:
        assert (text in home, text in work) == (in_home, in_work), text


@pytest.mark.scenario("Consolidation with LLM spawner")
async def test_the_model_is_triggered_once_per_group_with_the_schedule_as_source(pool, embedder, model, tell, now):
    await tell("FACT a | b | c", butler="home")
    await tell("FACT d | e | f", butler="work")
    await run_consolidation(pool, embedder, model, now=now)
    assert model.sources == ["schedule:consolidation"] * 2


@pytest.mark.scenario("Consolidation without spawner (dry run)")
async def test_a_dry_run_counts_and_changes_nothing(pool, embedder, tell, rows, now):
    await tell("a", "b", butler="home")
    await tell("c", butler="work", at=now + timedelta(seconds=1))
    await tell("d", butler="home", tenant_id="else")
    before = await rows("SELECT * FROM episodes ORDER BY id"), await rows("SELECT * FROM memory_events ORDER BY id")
    report = await run_consolidation(pool, embedder, now=now)
    assert report.dry_run
    assert report.waiting == {"home": 2, "work": 1}
    assert report.batches == []
    after = await rows("SELECT * FROM episodes ORDER BY id"), await rows("SELECT * FROM memory_events ORDER BY id")
    assert after == before


@pytest.mark.scenario("Consolidation group failure isolation")
async def test_a_group_that_fails_holds_up_no_other(pool, embedder, scripted, tell, rows, now, caplog):
    def answer(prompt):
        if "FACT a" in prompt:
            raise RuntimeError("the model is on fire, see /var/log/model/fire.log")
        return {"new_facts": [{"subject": "d", "predicate": "e", "content": "f"}]}

    await tell("FACT a | b | c", butler="home", at=now - timedelta(hours=1))
    await tell("FACT d | e | f", butler="work")
    report = await run_consolidation(pool, embedder, scripted(answer), now=now)
    assert [batch.status for batch in report.batches] == ["failed", "consolidated"]
    assert report.errors == ["home: RuntimeError: the model is on fire, see [path]"]
    assert "consolidation of 1 episodes of 'home' failed" in caplog.text
    assert await rows(FACTS) == [("d", "e", "f")]


GARBAGE = "I'm sorry, I can't help with that."


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (GARBAGE, "No JSON block found in consolidation output"),
        ("", "the model gave an empty answer"),
        ('{"error": "no"}', "The JSON has none of the keys"),
        ('{"new_facts": [{"subject": "x"}]}', "new_facts[0]: predicate: Field required"),
        (SpawnerResult("{}", False, error="rate limit, key sk-abcdefgh123"), "the model run failed: rate limit, key ["),
        (SpawnerResult(None, True), "the model gave an empty answer"),
        ("x" * 2_000_001, "the model's answer has 2,000,001 characters"),
        ('{"confirmations": ["6f1f64e0-8f0c-4b4f-9d7c-3a9c5e0d9d10"]}', "no action could be applied: confirmation:"),
    ],
)
async def test_anything_but_an_answer_is_a_failed_attempt(pool, embedder, scripted, tell, rows, now, answer, error):
    [episode] = await tell("FACT a | b | c")
    report = await run_consolidation(pool, embedder, scripted(lambda _prompt: answer), now=now)
    assert report.counts()["episodes_failed"] == 1
    [row] = await rows(
        "SELECT consolidation_status, consolidation_attempts, retry_count, last_consolidation_error, last_error,"
        " next_consolidation_retry_at, lease_owner, leased_until FROM episodes"
    )
    assert row[:3] == ("failed", 1, 1)
    assert row[3].startswith(error)
    assert "sk-" not in row[3]
    assert row[3] == row[4]
    assert row[5:] == (now + timedelta(minutes=2), None, None)
    assert await rows("SELECT count(*) FROM facts") == [(0,)]
    events = await rows("SELECT event_type, entity_id FROM memory_events WHERE event_type LIKE '%failed' ORDER BY 1")
    assert [kind for kind, _ in events] == ["consolidation_failed", "episode_failed"]
    assert events[1][1] == episode


async def test_a_spawner_that_hangs_is_given_up(pool, embedder, tell, rows, now):
    cancelled = asyncio.Event()

    class Hanging:
        async def trigger(self, *, prompt, trigger_source):
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

    await tell("FACT a | b | c")
    settings = ConsolidationConfig(time_limit_seconds=0.05)
    await run_consolidation(pool, embedder, Hanging(), settings=settings, now=now)
    assert cancelled.is_set()
    [(error,)] = await rows("SELECT last_consolidation_error FROM episodes")
    assert error == "the model did not answer within 0.05 seconds"


async def test_attempts_back_off_and_end_as_dead_letters(pool, embedder, scripted, tell, rows, now):
    await tell("FACT a | b | c")
    garbage, moment, waits = scripted(lambda _prompt: GARBAGE), now, []
    for attempt in range(5):
        if attempt:
            early = await run_consolidation(pool, embedder, garbage, now=moment - timedelta(seconds=1))
            assert early.batches == []
        await run_consolidation(pool, embedder, garbage, now=moment)
        [(retry_at,)] = await rows("SELECT next_consolidation_retry_at FROM episodes")
        waits.append(retry_at and (retry_at - moment) // timedelta(minutes=1))
        moment = retry_at or moment
    assert waits == [2, 4, 8, 16, None]
    assert await rows(STATES) == [("FACT a | b | c", "dead_letter", 5)]
    assert (await run_consolidation(pool, embedder, garbage, now=moment + timedelta(days=1))).batches == []
    assert await rows("SELECT count(*) FROM memory_events WHERE event_type = 'episode_dead_lettered'") == [(1,)]
    assert len(garbage.prompts) == 5


async def test_requeue_brings_dead_letters_back(pool, embedder, model, tell, rows, now):
    ids = await tell("FACT a | b | c", "FACT d | e | f")
    other = await tell("FACT g | h | i", butler="work")
    await tell("FACT j | k | l", tenant_id="else")
    dead = "UPDATE episodes SET consolidation_status = 'dead_letter', consolidation_attempts = 5"
    await pool.execute(dead)
    assert await requeue(pool, episode_ids=[ids[0]], now=now) == 1
    assert await requeue(pool, butler="work", now=now) == 1
    assert await requeue(pool, now=now) == 1
    assert await requeue(pool, now=now) == 0
    assert await rows("SELECT entity_id FROM memory_events WHERE event_type = 'episode_requeued' ORDER BY 1") == sorted(
        (id_,) for id_ in ids + other
    )
    report = await run_consolidation(pool, embedder, model, now=now)
    assert report.counts()["facts_created"] == 3
    assert await rows("SELECT consolidation_status FROM episodes WHERE tenant_id = 'else'") == [("dead_letter",)]
    with pytest.raises(InvalidInputError, match="episode_ids 'x' is not a UUID"):
        await requeue(pool, episode_ids=["x"])
    with pytest.raises(InvalidInputError, match="butler ' ' is empty"):
        await requeue(pool, butler=" ")
    with pytest.raises(InvalidInputError, match="request_context '5' is not an object"):
        await run_consolidation(pool, None, request_context=5)


async def test_younger_episodes_wait_for_older_ones_that_failed(pool, embedder, scripted, model, tell, rows, now):
    await tell("FACT user | city | Paris")
    await run_consolidation(pool, embedder, scripted(lambda _prompt: GARBAGE), now=now)
    await tell("FACT user | city | Rome", at=now + timedelta(hours=1))
    # Taken out of order, Paris would come last and replace Rome.
    assert (await run_consolidation(pool, embedder, model, now=now + timedelta(minutes=1))).batches == []
    await run_consolidation(pool, embedder, model, now=now + timedelta(minutes=3))
    assert await rows(FACTS) == [("user", "city", "Rome")]


async def test_a_bad_episode_ends_up_alone(pool, embedder, scripted, tell, rows, now):
    poisoned = scripted()
    usual = poisoned.answer
    poisoned.answer = lambda prompt: GARBAGE if "poison" in prompt else usual(prompt)
    await tell(*(f"FACT n{n} | is | {n}" for n in range(6)), "poison", *(f"FACT m{n} | is | {n}" for n in range(9)))
    moment = now
    for _ in range(40):
        await run_consolidation(pool, embedder, poisoned, settings=ConsolidationConfig(batch_size=16), now=moment)
        moment += timedelta(days=1)
    states = {content: state for content, state, _ in await rows(STATES)}
    assert [content for content, state in states.items() if state == "dead_letter"] == ["poison"]
    assert len(await rows(FACTS)) == 15


async def test_batches_and_runs_are_bounded_and_butlers_take_turns(pool, embedder, model, tell, now):
    await tell(*(f"FACT a{n} | is | {n}" for n in range(7)), butler="busy", at=now - timedelta(hours=1))
    await tell("FACT z | is | 1", butler="quiet")
    settings = ConsolidationConfig(batch_size=3, max_episodes_per_run=5)
    first = await run_consolidation(pool, embedder, model, settings=settings, now=now)
    assert [(batch.butler, batch.episodes) for batch in first.batches] == [("busy", 3), ("quiet", 1), ("busy", 1)]
    second = await run_consolidation(pool, embedder, model, settings=settings, now=now)
    assert [(batch.butler, batch.episodes) for batch in second.batches] == [("busy", 3)]


async def test_a_long_prompt_is_split_into_batches(pool, embedder, model, tell, rows, now):
    await tell(*("FACT a | is | " + "x" * 3_000 for _ in range(5)))
    settings = ConsolidationConfig(max_prompt_chars=20_000)
    report = await run_consolidation(pool, embedder, model, settings=settings, now=now)
    assert len(report.batches) > 1
    assert all(len(prompt) <= 20_000 for prompt in model.prompts)
    assert {state for _, state, _ in await rows(STATES)} == {"consolidated"}


async def test_one_butler_can_be_chosen(pool, embedder, model, tell, now):
    await tell("FACT a | b | c", butler="home")
    await tell("FACT d | e | f", butler="work")
    report = await run_consolidation(pool, embedder, model, butler="work", now=now)
    assert report.waiting == {"work": 1}
    assert [batch.butler for batch in report.batches] == ["work"]


async def test_a_forgotten_episode_is_never_read_and_a_late_one_is(pool, embedder, model, tell, rows, now):
    forgotten, _late = await tell("FACT a | b | forgotten", "FACT d | e | late")
    await forget_memory(pool, "episode", forgotten, now=now)
    later = now + timedelta(days=8)
    assert (await run_consolidation(pool, embedder, now=later)).waiting == {"home": 1}
    await run_consolidation(pool, embedder, model, now=later)
    assert await rows(FACTS) == [("d", "e", "late")]
    assert "forgotten" not in model.prompts[0]


async def test_the_session_s_own_output_is_no_episode(pool, embedder, model, tell, rows, now):
    await tell("FACT a | b | c")
    await run_consolidation(pool, embedder, model, now=now)
    assert await rows("SELECT count(*) FROM episodes") == [(1,)]


async def test_usage_is_recorded_in_the_event(pool, embedder, model, tell, rows, now):
    await tell("FACT a | b | c")
    await run_consolidation(pool, embedder, model, request_context={"request_id": "r1"}, now=now)
    [(payload, request_id)] = await rows(
        "SELECT payload, request_id FROM memory_events WHERE event_type = 'consolidation_completed'"
    )
    recorded = json.loads(payload)
    assert request_id == "r1"
    assert {key: recorded[key] for key in ("butler", "model", "input_tokens", "output_tokens", "duration_ms")} == {
        "butler": "home",
        "model": "script",
        "input_tokens": 100,
        "output_tokens": 10,
        "duration_ms": 5,
    }


async def test_it_works_through_a_transaction_pooler(dsn, embedder, model, tell, rows, now):
    await tell("FACT a | b | c", "RULE Be brief.")
    # No prepared statement and no session state outlives a transaction.
    async with await open_pool(dsn, pooler=True) as pooled:
        report = await run_consolidation(pooled, embedder, model, now=now)
    assert report.counts()["facts_created"] == 1
    assert await rows("SELECT count(*) FROM rules") == [(1,)]


async def test_a_pool_with_json_codecs_gives_the_same(dsn, embedder, model, tell, rows, now):
    async def decode(connection):
        await connection.set_type_codec("jsonb", encoder=json.dumps, decoder=json.loads, schema="pg_catalog")

    await tell("FACT user | city | Paris", "CONFIRM user | city")
    async with asyncpg.create_pool(dsn, min_size=1, init=decode) as decoding:
        settings = ConsolidationConfig(batch_size=1)
        report = await run_consolidation(decoding, embedder, model, settings=settings, now=now)
    assert (report.counts()["facts_created"], report.counts()["confirmations"], report.errors) == (1, 1, [])


async def test_what_can_be_read_of_an_answer_is_applied_and_the_rest_reported(
    pool, embedder, scripted, tell, rows, now
):
    facts = [{"subject": "user", "predicate": "city", "content": "Paris"}, {"subject": "user"}]
    await tell("Paris!")
    report = await run_consolidation(pool, embedder, scripted(lambda _prompt: {"new_facts": facts}), now=now)
    assert [batch.status for batch in report.batches] == ["consolidated"]
    assert report.errors == ["home: new_facts[1]: predicate: Field required; content: Field required"]
    assert await rows(FACTS) == [("user", "city", "Paris")]
    [(payload,)] = await rows("SELECT payload FROM memory_events WHERE event_type = 'consolidation_completed'")
    assert json.loads(payload)["parse_errors"] == 1


async def test_progress_is_told(pool, embedder, model, tell, now):
    await tell(*(f"FACT a{n} | is | {n}" for n in range(5)))
    seen = []
    settings = ConsolidationConfig(batch_size=3)
    await run_consolidation(pool, embedder, model, settings=settings, on_progress=seen.append, now=now)
    assert [(step.done, step.total, step.status) for step in seen] == [
        (0, 5, "asking"),
        (3, 5, "consolidated"),
        (3, 5, "asking"),
        (5, 5, "consolidated"),
    ]


async def test_the_lease_is_renewed_while_the_model_thinks(pool, embedder, scripted, tell, rows):
    slow = scripted()

    class Slow:
        async def trigger(self, **asked):
            [(first,)] = await rows("SELECT leased_until FROM episodes")
            async with asyncio.timeout(10):
                while await rows("SELECT leased_until FROM episodes") == [(first,)]:
                    await asyncio.sleep(0.01)
            return await slow.trigger(**asked)

    await tell("FACT a | b | c")
    settings = ConsolidationConfig(lease_seconds=0.6)
    report = await run_consolidation(pool, embedder, Slow(), settings=settings)
    assert report.counts()["facts_created"] == 1
    assert await rows("SELECT lease_owner, leased_until FROM episodes") == [(None, None)]


@pytest.mark.parametrize("how", ["taken", "deleted"])
async def test_a_batch_that_was_lost_while_the_model_thought_is_not_applied(
    pool, embedder, scripted, tell, rows, now, how
):
    steal = {
        "taken": "UPDATE episodes SET lease_owner = 'another' WHERE content LIKE '%c'",
        "deleted": "DELETE FROM episodes WHERE content LIKE '%c'",
    }

    class Robbed:
        async def trigger(self, **asked):
            await pool.execute(steal[how])
            return await scripted().trigger(**asked)

    await tell("FACT a | b | c", "FACT d | e | f")
    report = await run_consolidation(pool, embedder, Robbed(), now=now)
    assert [batch.status for batch in report.batches] == ["lost"]
    assert await rows("SELECT count(*) FROM facts") == [(0,)]
    # Not its fault: no attempt is counted, and what is left can be taken at once.
    assert ("FACT d | e | f", "pending", 0) in await rows(STATES)
    assert await rows("SELECT lease_owner FROM episodes WHERE content LIKE '%f'") == [(None,)]


async def test_a_lost_lease_stops_the_model(pool, embedder, tell, rows):
    class Robbed:
        async def trigger(self, **_asked):
            await pool.execute("UPDATE episodes SET lease_owner = 'another'")
            await asyncio.Event().wait()

    await tell("FACT a | b | c")
    settings = ConsolidationConfig(lease_seconds=0.1)
    async with asyncio.timeout(10):
        report = await run_consolidation(pool, embedder, Robbed(), settings=settings)
    assert [batch.status for batch in report.batches] == ["lost"]


async def test_cancelling_a_run_gives_the_batch_back(pool, embedder, tell, rows, now):
    begun = asyncio.Event()

    class Waiting:
        async def trigger(self, **_asked):
            begun.set()
            await asyncio.Event().wait()

    await tell("FACT a | b | c")
    run = asyncio.create_task(run_consolidation(pool, embedder, Waiting(), now=now))
    await begun.wait()
    assert await rows("SELECT leased_until > $1 FROM episodes", now) == [(True,)]
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert await rows(STATES) == [("FACT a | b | c", "pending", 0)]
    assert await rows("SELECT lease_owner, leased_until FROM episodes") == [(None, None)]


async def test_a_conflict_with_another_writer_is_tried_again(pool, embedder, model, tell, rows, now):
    await tell("FACT a | b | c")
    # Fails as a deadlock would, once.
    await pool.execute("CREATE SEQUENCE tries")
    await pool.execute(
        """
        CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF nextval('tries') < 2 THEN
                RAISE EXCEPTION 'deadlock' USING ERRCODE = 'deadlock_detected';
            END IF;
            RETURN NEW;
        END $$
        """
    )
    await pool.execute("CREATE TRIGGER conflict BEFORE INSERT ON facts FOR EACH ROW EXECUTE FUNCTION conflict()")
    report = await run_consolidation(pool, embedder, model, now=now)
    assert report.counts()["facts_created"] == 1
    assert len(model.prompts) == 1


async def test_a_conflict_that_stays_is_a_failed_attempt(pool, embedder, model, tell, rows, now):
    await tell("FACT a | b | c", "RULE Be brief.")
    await pool.execute(
        """
        CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'deadlock' USING ERRCODE = 'deadlock_detected'; END $$
        """
    )
    await pool.execute("CREATE TRIGGER conflict BEFORE INSERT ON facts FOR EACH ROW EXECUTE FUNCTION conflict()")
    report = await run_consolidation(pool, embedder, model, now=now)
    assert report.errors == ["home: DeadlockDetectedError: deadlock"]
    assert {state for _, state, _ in await rows(STATES)} == {"failed"}
    assert await rows("SELECT count(*) FROM rules") == [(0,)]


def test_a_batch_ends_before_an_episode_that_must_wait():
    def waiting(**changes):
        return {"due": True, "leased": False, "consolidation_attempts": 0} | changes

    assert len(choose_batch([waiting(), waiting()], 10)) == 2
    assert choose_batch([waiting(due=False), waiting()], 10) == []
    assert choose_batch([waiting(leased=True), waiting()], 10) == []
    assert len(choose_batch([waiting(), waiting(due=False), waiting()], 10)) == 1
    assert len(choose_batch([waiting(consolidation_attempts=2)] * 10, 10)) == 2
    assert len(choose_batch([waiting(consolidation_attempts=60)] * 10, 10)) == 1
    assert choose_batch([], 10) == []
