"""What an answer does to the database: each action by itself, all of them together or not at all."""

import asyncio
import json
from uuid import uuid4

import pytest
from memory_consolidate import execute_consolidation, parse_consolidation_output
from memory_core import InvalidInputError, create_link, forget_memory, get_links, get_memory, store_fact, store_rule
from memory_core.testing import WordHashEmbedder

PARIS = {"subject": "user", "predicate": "city", "content": "Paris"}
ACTIVE = "SELECT subject, predicate, content FROM facts WHERE validity = 'active' ORDER BY content"


def parsed(**lists):
    result = parse_consolidation_output(json.dumps(lists))
    assert result.parse_errors == []
    return result


@pytest.mark.scenario("New facts stored with derived_from links")
@pytest.mark.scenario("Link created between episode and derived fact")
async def test_a_new_fact_is_stored_with_its_source_and_linked_to_each_episode(pool, embedder, tell, rows, now):
    ids = await tell("a", "b")
    fact = PARIS | {"permanence": "stable", "importance": 8, "tags": ["home"]}
    report = await execute_consolidation(pool, embedder, parsed(new_facts=[fact]), ids, "home", now=now)
    assert (report.facts_created, report.links_created, report.episodes_consolidated) == (1, 2, 2)
    [stored] = await rows("SELECT content, permanence, importance, tags, source_butler, source_episode_id FROM facts")
    assert stored == ("Paris", "stable", 8.0, '["home"]', "home", ids[0])
    links = await rows("SELECT source_type, target_id, relation FROM memory_links ORDER BY target_id")
    assert links == [("fact", id_, "derived_from") for id_ in sorted(ids)]


async def test_links_go_to_the_episodes_that_an_action_names(pool, embedder, tell, rows, now):
    ids = await tell("a", "b", "c")
    named = PARIS | {"evidence_episode_ids": [str(ids[2]), str(uuid4())]}
    strangers = {"content": "Be brief.", "evidence_episode_ids": [str(uuid4())]}
    answer = parsed(new_facts=[named], new_rules=[strangers])
    await execute_consolidation(pool, embedder, answer, ids, "home", now=now)
    linked = await rows("SELECT source_type, target_id FROM memory_links ORDER BY source_type, target_id")
    assert linked == [("fact", ids[2]), *(("rule", id_) for id_ in sorted(ids))]
    assert await rows("SELECT source_episode_id FROM facts") == [(ids[2],)]


@pytest.mark.scenario("Updated facts trigger supersession")
async def test_an_update_supersedes_its_target_and_keeps_what_it_does_not_say(pool, embedder, tell, rows, now):
    [episode] = await tell("moved")
    old = await store_fact(
        pool,
        "user",
        "home city",
        "Paris",
        embedder,
        importance=9.0,
        permanence="stable",
        scope="home",
        tags=["t"],
        metadata={"verified": True, "status": "fading"},
        now=now,
    )
    update = {"target_id": str(old), "subject": "User", "predicate": "home_city", "content": "Berlin"}
    report = await execute_consolidation(pool, embedder, parsed(updated_facts=[update]), [episode], "home", now=now)
    assert (report.facts_updated, report.facts_created, report.errors) == (1, 0, [])
    [new] = await rows(
        "SELECT id, subject, predicate, content, importance, permanence, scope, tags, metadata, supersedes_id"
        " FROM facts WHERE validity = 'active'"
    )
    assert new[1:] == ("user", "home city", "Berlin", 9.0, "stable", "home", '["t"]', '{"verified": true}', old)
    assert (await get_memory(pool, "fact", old))["validity"] == "superseded"
    relations = {(link["relation"], link["target_id"]) for link in await get_links(pool, "fact", new[0])}
    assert relations == {("supersedes", old), ("derived_from", episode)}


async def test_an_update_changes_what_it_does_say(pool, embedder, tell, rows, now):
    [episode] = await tell("moved")
    old = await store_fact(pool, **PARIS, embedding_engine=embedder, importance=9.0, tags=["t"], now=now)
    update = PARIS | {"target_id": str(old), "content": "Rome", "importance": 2, "permanence": "volatile", "tags": []}
    await execute_consolidation(pool, embedder, parsed(updated_facts=[update]), [episode], "home", now=now)
    [new] = await rows("SELECT content, importance, permanence, tags FROM facts WHERE validity = 'active'")
    assert new == ("Rome", 2.0, "volatile", "[]")


async def test_an_update_of_an_entity_s_fact_keeps_the_entity(pool, embedder, tell, rows, now):
    [episode] = await tell("moved")
    entity = await pool.fetchval("INSERT INTO entities (canonical_name) VALUES ('Sarah') RETURNING id")
    old = await store_fact(pool, "Sarah", "city", "Paris", embedder, entity_id=entity, now=now)
    update = {"target_id": str(old), "subject": "my sister", "predicate": "city", "content": "Rome"}
    await execute_consolidation(pool, embedder, parsed(updated_facts=[update]), [episode], "home", now=now)
    assert await rows("SELECT subject, content, entity_id, supersedes_id FROM facts WHERE validity = 'active'") == [
        ("Sarah", "Rome", entity, old)
    ]


async def test_an_update_whose_target_is_another_fact_overwrites_nothing(pool, embedder, tell, rows, now):
    [episode] = await tell("born in May")
    city = await store_fact(pool, **PARIS, embedding_engine=embedder, now=now)
    update = {"target_id": str(city), "subject": "user", "predicate": "birthday", "content": "May 3"}
    report = await execute_consolidation(pool, embedder, parsed(updated_facts=[update]), [episode], "home", now=now)
    assert (report.facts_created, report.facts_updated) == (1, 0)
    assert await rows(ACTIVE) == [("user", "birthday", "May 3"), ("user", "city", "Paris")]


@pytest.mark.parametrize("target", ["unknown", "other scope", "other tenant"])
async def test_an_update_without_a_visible_target_supersedes_by_its_key_and_takes_nothing_over(
    pool, embedder, tell, rows, now, target
):
    [episode] = await tell("moved")
    await store_fact(pool, **PARIS, embedding_engine=embedder, now=now)
    foreign = {"other scope": {"scope": "work"}, "other tenant": {"tenant_id": "else"}}.get(target)
    secret = {"importance": 9.0, "tags": ["theirs"], "metadata": {"secret": True}, "permanence": "stable"}
    kept = foreign and await store_fact(pool, **PARIS, embedding_engine=embedder, **foreign, **secret, now=now)
    update = PARIS | {"target_id": str(kept or uuid4()), "content": "Rome"}
    report = await execute_consolidation(pool, embedder, parsed(updated_facts=[update]), [episode], "home", now=now)
    assert report.facts_updated == 1
    assert await rows(
        "SELECT content, importance, tags, metadata, permanence FROM facts"
        " WHERE scope = 'global' AND tenant_id = 'default' ORDER BY content"
    ) == [
        ("Paris", 5.0, "[]", "{}", "standard"),
        ("Rome", 5.0, "[]", "{}", "standard"),
    ]
    if kept:
        assert await rows("SELECT validity FROM facts WHERE id = $1", kept) == [("active",)]


async def test_a_fact_found_again_confirms_the_known_one(pool, embedder, tell, rows, now):
    [episode] = await tell("still in Paris")
    known = await store_fact(pool, **PARIS, embedding_engine=embedder, importance=9.0)
    again = PARIS | {"content": "Paris ", "importance": 3}
    report = await execute_consolidation(pool, embedder, parsed(new_facts=[again]), [episode], "home")
    assert (report.facts_created, report.facts_updated, report.confirmations) == (0, 0, 1)
    assert await rows("SELECT id, importance FROM facts") == [(known, 9.0)]
    assert await rows("SELECT source_id, target_id FROM memory_links") == [(known, episode)]


async def test_two_facts_with_one_key_in_one_answer_leave_the_later(pool, embedder, tell, rows, now):
    [episode] = await tell("Paris, then Rome")
    answer = parsed(new_facts=[PARIS, PARIS | {"content": "Rome"}])
    report = await execute_consolidation(pool, embedder, answer, [episode], "home", now=now)
    assert (report.facts_created, report.facts_updated) == (1, 1)
    assert await rows(ACTIVE) == [("user", "city", "Rome")]


async def test_confirmations_are_counted_as_they_were(pool, embedder, tell, rows, now):
    ids = await tell("yes", "indeed")
    fact = await store_fact(pool, **PARIS, embedding_engine=embedder, metadata={"status": "fading"})
    rule = await store_rule(pool, "Greet in French.", embedder)
    gone = await store_fact(pool, "user", "pet", "cat", embedder)
    await forget_memory(pool, "fact", gone)
    foreign = await store_fact(pool, **PARIS, embedding_engine=embedder, tenant_id="else")
    foreign_rule = await store_rule(pool, "Greet in French.", embedder, tenant_id="else")
    private = await store_fact(pool, **PARIS, embedding_engine=embedder, scope="work")
    confirmations = [{"id": str(fact), "evidence_episode_ids": [str(ids[1])]}] + [
        str(id_) for id_ in (rule, gone, foreign, foreign_rule, private, uuid4())
    ]
    report = await execute_consolidation(pool, embedder, parsed(confirmations=confirmations), ids, "home", now=now)
    assert report.confirmations == 2
    assert len(report.errors) == 5
    assert sum("is retracted and cannot be confirmed" in error for error in report.errors) == 1
    assert sum("is no fact or rule that 'home' sees" in error for error in report.errors) == 4
    supported = await rows("SELECT source_id, target_type FROM memory_links WHERE relation = 'supports' ORDER BY 2, 1")
    assert supported == [(ids[1], "fact"), *((id_, "rule") for id_ in sorted(ids))]
    assert await rows("SELECT metadata FROM facts WHERE id = $1", fact) == [("{}",)]


async def test_a_fact_can_be_borne_out_and_then_replaced_in_one_answer(pool, embedder, tell, rows, now):
    ids = await tell("still Paris", "no, Rome")
    known = await store_fact(pool, **PARIS, embedding_engine=embedder, now=now)
    answer = parsed(
        updated_facts=[PARIS | {"target_id": str(known), "content": "Rome", "evidence_episode_ids": [str(ids[1])]}],
        confirmations=[{"id": str(known), "evidence_episode_ids": [str(ids[0])]}],
    )
    report = await execute_consolidation(pool, embedder, answer, ids, "home", now=now)
    assert (report.confirmations, report.facts_updated, report.errors) == (1, 1, [])
    assert await rows(ACTIVE) == [("user", "city", "Rome")]


async def test_a_rule_that_is_known_is_confirmed_and_a_harmful_one_is_not_brought_back(pool, embedder, tell, rows, now):
    [episode] = await tell("taught")
    await store_rule(pool, "Be brief.", embedder)
    await store_rule(pool, "Ask first.", embedder, tenant_id="else")
    await pool.execute(
        "INSERT INTO rules (content, maturity, metadata) VALUES ('ANTI-PATTERN: x', 'anti_pattern', $1::text::jsonb)",
        json.dumps({"original_content": "Call at night."}),
    )
    answer = parsed(new_rules=[{"content": "Be brief."}, {"content": "Call at night."}, {"content": "Ask first."}])
    report = await execute_consolidation(pool, embedder, answer, [episode], "home", now=now)
    assert (report.rules_created, report.confirmations) == (1, 1)
    assert "was found harmful" in report.errors[0]
    stored = await rows("SELECT content, source_butler FROM rules WHERE source_episode_id = $1", episode)
    assert stored == [("Ask first.", "home")]


async def test_a_model_chooses_between_everybody_s_scope_and_the_butler_s_own(pool, embedder, tell, rows, now):
    [episode] = await tell("x")
    scopes = ["home", "global", "work", None]
    facts = [PARIS | {"predicate": f"p{n}", "scope": scope} for n, scope in enumerate(scopes)]
    await execute_consolidation(pool, embedder, parsed(new_facts=facts), [episode], "home", now=now)
    stored = await rows("SELECT scope FROM facts ORDER BY predicate")
    assert stored == [("home",), ("global",), ("global",), ("global",)]


@pytest.mark.scenario("Source episodes marked as consolidated")
async def test_all_source_episodes_are_marked_with_their_events(pool, embedder, tell, rows, now):
    ids = await tell("a", "b")
    context = {"request_id": "req-1"}
    await execute_consolidation(
        pool, embedder, parsed(new_facts=[PARIS]), ids, "home", request_context=context, now=now
    )
    assert await rows("SELECT consolidated, consolidation_status FROM episodes") == [(True, "consolidated")] * 2
    events = await rows(
        "SELECT event_type, actor, request_id FROM memory_events WHERE event_type <> 'episode_created' ORDER BY 1"
    )
    assert events == [
        (kind, "consolidation", "req-1")
        for kind in (
            "consolidation_completed",
            "episode_consolidated",
            "episode_consolidated",
            "evidence_linked",
            "fact_created",
        )
    ]
    [payload] = await rows("SELECT payload FROM memory_events WHERE event_type = 'consolidation_completed'")
    assert json.loads(payload[0])["facts_created"] == 1


class ForgetfulEmbedder(WordHashEmbedder):
    """Fails on one text, as a remote backend may."""

    def embed_batch(self, texts):
        if any("Atlantis" in text for text in texts):
            raise RuntimeError("no vector for Atlantis")
        return super().embed_batch(texts)


@pytest.mark.scenario("Individual action failures do not block others")
async def test_an_action_that_fails_leaves_the_others_alone(pool, tell, rows, now, caplog):
    ids = await tell("a")
    facts = [PARIS | {"predicate": "p1"}, PARIS | {"content": "Atlantis"}, PARIS | {"predicate": "p2"}]
    answer = parsed(new_facts=facts, new_rules=[{"content": "Be brief."}])
    report = await execute_consolidation(pool, ForgetfulEmbedder(), answer, ids, "home", now=now)
    assert report.errors == ["new_fact: RuntimeError: no vector for Atlantis"]
    assert (report.facts_created, report.rules_created, report.episodes_consolidated) == (2, 1, 1)
    assert await rows("SELECT predicate FROM facts ORDER BY 1") == [("p1",), ("p2",)]
    assert "a new_fact of 'home' was left out" in caplog.text
    # Nothing of it stays behind, not even its key: a later answer may try again.
    assert await rows("SELECT count(*) FROM consolidation_actions") == [(3,)]


async def test_an_action_that_the_database_refuses_leaves_the_others_alone(pool, embedder, tell, rows, now):
    ids = await tell("a")
    await pool.execute("ALTER TABLE facts ADD CONSTRAINT no_rome CHECK (content <> 'Rome')")
    answer = parsed(new_facts=[PARIS, PARIS | {"content": "Rome"}], new_rules=[{"content": "Be brief."}])
    report = await execute_consolidation(pool, embedder, answer, ids, "home", now=now)
    assert "no_rome" in report.errors[0]
    assert await rows(ACTIVE) == [("user", "city", "Paris")]
    assert report.rules_created == 1


async def test_repeating_an_answer_changes_nothing(pool, embedder, tell, rows, now):
    ids = await tell("a", "b")
    known = await store_fact(pool, "user", "pet", "cat", embedder, now=now)
    answer = parsed(
        new_facts=[PARIS, PARIS | {"predicate": "work"}],
        updated_facts=[{"target_id": str(known), "subject": "user", "predicate": "pet", "content": "dog"}],
        new_rules=[{"content": "Be brief."}, {"content": "Be brief."}],
    )
    first = await execute_consolidation(pool, embedder, answer, ids, "home", now=now)
    assert (first.facts_created, first.facts_updated, first.rules_created, first.duplicates) == (2, 1, 1, 1)
    tables = ("facts", "rules", "memory_links", "consolidation_actions")
    before = [await rows(f"SELECT * FROM {table} ORDER BY 1, 2, 3") for table in tables]
    again = await execute_consolidation(pool, embedder, answer, list(reversed(ids)), "home", now=now)
    assert (again.duplicates, again.applied, again.errors) == (5, 5, [])
    assert [await rows(f"SELECT * FROM {table} ORDER BY 1, 2, 3") for table in tables] == before


async def test_answers_that_write_the_same_keys_in_opposite_order_do_not_wait_for_each_other(
    pool, embedder, tell, rows, now, caplog
):
    facts = [PARIS | {"predicate": f"p{n}"} for n in range(40)]
    rules = [{"content": f"Rule {n}."} for n in range(10)]
    one, other = await tell("a", butler="home"), await tell("b", butler="work")
    both = await asyncio.gather(
        execute_consolidation(pool, embedder, parsed(new_facts=facts, new_rules=rules), one, "home", now=now),
        execute_consolidation(
            pool, embedder, parsed(new_facts=facts[::-1], new_rules=rules[::-1]), other, "work", now=now
        ),
    )
    assert sum(report.facts_created for report in both) == 40
    assert sum(report.rules_created for report in both) == 10
    assert sum(report.confirmations for report in both) == 50
    assert "starts over" not in caplog.text


async def test_a_key_is_unique_in_the_database(pool):
    insert = (
        "INSERT INTO consolidation_actions (tenant_id, idempotency_key, action, memory_type, memory_id)"
        " VALUES ($1, 'k', 'new_rule', 'rule', gen_random_uuid()) ON CONFLICT DO NOTHING RETURNING 1"
    )
    inserted = [await pool.fetchval(insert, tenant) for tenant in ("a", "a", "b")]
    assert inserted == [1, None, 1]


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([], "source_episode_ids an empty list: no such episode exists"),
        (["x"], "source_episode_ids 'x' is not a UUID"),
        ([str(uuid4())], "no such episode exists; pass the ids of the episodes that the answer rests on"),
    ],
)
async def test_an_answer_without_episodes_is_refused(pool, embedder, rows, ids, message):
    with pytest.raises(InvalidInputError) as caught:
        await execute_consolidation(pool, embedder, parsed(new_facts=[PARIS]), ids, "home")
    assert message in str(caught.value)
    assert await rows("SELECT count(*) FROM facts") == [(0,)]


async def test_another_tenant_s_episodes_are_no_evidence(pool, embedder, tell, rows, now):
    mine = await tell("a")
    theirs = await tell("b", tenant_id="else")
    await execute_consolidation(pool, embedder, parsed(new_facts=[PARIS]), mine + theirs, "home", now=now)
    assert await rows("SELECT target_id FROM memory_links") == [(mine[0],)]
    assert await rows("SELECT consolidation_status FROM episodes WHERE id = $1", theirs[0]) == [("pending",)]


async def test_an_answer_can_be_applied_inside_the_caller_s_own_transaction(pool, embedder, tell, rows, now):
    ids = await tell("a")
    async with pool.acquire() as connection:
        outer = connection.transaction()
        await outer.start()
        await execute_consolidation(connection, embedder, parsed(new_facts=[PARIS]), ids, "home", now=now)
        await outer.rollback()
    assert await rows("SELECT count(*) FROM facts") == [(0,)]
    assert await rows("SELECT consolidation_status FROM episodes") == [("pending",)]


async def test_links_of_other_people_stay(pool, embedder, tell, rows, now):
    ids = await tell("a")
    fact = await store_fact(pool, **PARIS, embedding_engine=embedder, now=now)
    await create_link(pool, "fact", fact, "episode", ids[0], "contradicts")
    report = await execute_consolidation(pool, embedder, parsed(new_facts=[PARIS]), ids, "home", now=now)
    assert report.links_created == 0
    assert await rows("SELECT relation FROM memory_links") == [("contradicts",)]
