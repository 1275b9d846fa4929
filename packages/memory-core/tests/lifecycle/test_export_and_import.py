"""All that a tenant has leaves as JSON Lines and comes back equal."""

import io
import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import asyncpg
import pytest
from memory_core import (
    EmbeddingError,
    InvalidInputError,
    NewEpisode,
    confirm_memory,
    create_link,
    export_memories,
    import_memories,
    mark_harmful,
    mark_helpful,
    store_episode,
    store_episodes,
    store_fact,
    store_rule,
)
from memory_core.import_file import BATCH_LINES
from memory_core.memory_export import KINDS
from memory_core.testing import WordHashEmbedder

NOW = datetime(2026, 3, 1, 12, 30, 15, 123456, tzinfo=UTC)

# What one database keeps for itself: identities of rows in order, and leases.
OWN_COLUMNS = {"position", "lease_owner", "leased_until"}
TABLES = {
    "entities": "id",
    "episodes": "id",
    "session_turns": "episode_id",
    "facts": "id",
    "rules": "id",
    "rule_applications": "id",
    "memory_links": "source_id, target_id",
    "memory_events": "id",
}


@pytest.fixture
async def other_pool(server, template_database):
    """A second database, migrated and empty."""
    name = f"other_{uuid4().hex}"
    admin = await asyncpg.connect(server.dsn)
    await admin.execute(f"CREATE DATABASE {name} TEMPLATE {template_database}")
    async with asyncpg.create_pool(server.dsn.replace("/memory?", f"/{name}?"), min_size=1, max_size=3) as opened:
        yield opened
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()


async def populate(pool, embedder, tenant_id="default"):
    """Store some of everything."""
    told = {"tenant_id": tenant_id, "now": NOW}
    session = uuid4()
    turns = [NewEpisode(f'turn {n}: «tea» \\ "{n}"\n\t✓ 🍵', "jeeves", session, created_at=NOW) for n in range(3)]
    [first, *_] = await store_episodes(pool, turns, embedder, **told)
    await store_episode(pool, "alone", "jeeves", embedder, importance=0.1 + 0.2, metadata={"a": [1, None, "ü"]}, **told)
    entity_id = await pool.fetchval(
        "INSERT INTO entities (tenant_id, canonical_name, entity_type, aliases, metadata)"
        """ VALUES ($1, 'Ada', 'person', $2, '{"x": 1}') RETURNING id""",
        tenant_id,
        ["A. L.", 'a "quote" and, comma'],
    )
    old = await store_fact(pool, "user", "likes", "coffee", embedder, source_episode_id=first, tags=["hot"], **told)
    new = await store_fact(pool, "user", "likes", "tea", embedder, confidence=1 / 3, **told)
    await store_fact(pool, "Ada", "wrote", "notes", embedder, entity_id=entity_id, source_butler="jeeves", **told)
    await confirm_memory(pool, "fact", new, tenant_id=tenant_id, now=NOW + timedelta(hours=1))
    rule_id = await store_rule(pool, "Offer tea", embedder, source_episode_id=first, **told)
    await mark_helpful(pool, rule_id, request_context={"request_id": "r-1"}, **told)
    await mark_harmful(pool, rule_id, "too hot", **told)
    await create_link(pool, "rule", rule_id, "episode", first, "derived_from", **told)
    return {"old": old, "new": new, "rule": rule_id, "episode": first, "entity": entity_id}


async def contents(pool, tenant_id="default"):
    """Everything that a tenant has, column by column; the import's own event left out."""
    found = {}
    for table, order in TABLES.items():
        rows = await pool.fetch(
            f"SELECT to_jsonb(t) AS row FROM {table} AS t WHERE tenant_id = $1 ORDER BY {order}", tenant_id
        )
        parsed = [json.loads(row["row"]) for row in rows]
        found[table] = [
            {key: value for key, value in row.items() if key not in OWN_COLUMNS}
            for row in parsed
            if row.get("event_type") != "memories_imported"
        ]
    return found


async def exported(pool, **options):
    lines = []
    counts = await export_memories(pool, lines.append, **options)
    return lines, counts


async def test_a_round_trip_gives_equal_rows(pool, other_pool, embedder):
    await populate(pool, embedder)
    lines, counts = await exported(pool)
    imported = await import_memories(other_pool, lines, embedder)
    assert {kind: told.inserted for kind, told in imported.items()} == counts
    before, after = await contents(pool), await contents(other_pool)
    assert all(before.values())
    assert after == before
    again, _ = await exported(other_pool)
    assert sorted(line for line in again[1:] if "memories_imported" not in line) == sorted(lines[1:])


async def test_importing_twice_changes_nothing(pool, other_pool, embedder):
    await populate(pool, embedder)
    lines, counts = await exported(pool)
    await import_memories(other_pool, lines, embedder)
    before = await contents(other_pool)
    events = await other_pool.fetchval("SELECT count(*) FROM memory_events")
    again = await import_memories(other_pool, lines, embedder)
    assert {kind: (told.inserted, told.unchanged, told.conflicts) for kind, told in again.items()} == {
        kind: (0, count, 0) for kind, count in counts.items()
    }
    assert await contents(other_pool) == before
    assert await other_pool.fetchval("SELECT count(*) FROM memory_events") == events


async def test_importing_into_its_own_database_changes_nothing(pool, embedder):
    await populate(pool, embedder)
    lines, _ = await exported(pool)
    before = await contents(pool)
    await import_memories(pool, lines, embedder)
    assert await contents(pool) == before


async def test_without_embeddings_the_file_is_small_and_the_texts_are_embedded_anew(pool, other_pool, embedder):
    await populate(pool, embedder)
    full, _ = await exported(pool)
    lean, counts = await exported(pool, embeddings=False)
    assert sum(map(len, lean)) < sum(map(len, full)) / 5
    imported = await import_memories(other_pool, lean, embedder)
    assert {kind: told.inserted for kind, told in imported.items()} == counts
    again = await import_memories(other_pool, lean, embedder)
    assert {kind: told.unchanged for kind, told in again.items()} == counts
    before, after = await contents(pool), await contents(other_pool)
    for table in ("episodes", "facts", "rules", "session_turns"):
        for old, new in zip(before[table], after[table], strict=True):
            assert new["search_vector"] == old["search_vector"], table
            vectors = [json.loads(row["embedding"]) for row in (old, new)]
            assert vectors[1] == pytest.approx(vectors[0], abs=1e-5), table


async def test_vectors_of_another_model_are_not_taken_over(pool, other_pool, embedder):
    await populate(pool, embedder)
    lines, _ = await exported(pool)
    another = WordHashEmbedder(version="2")
    await import_memories(other_pool, lines, another)
    generations = await other_pool.fetch("SELECT version, status FROM embedding_versions")
    assert [tuple(row) for row in generations] == [("2", "active")]
    with pytest.raises(EmbeddingError, match="the stored vectors were made by"):
        await import_memories(other_pool, lines, embedder)


async def test_only_the_asked_tenant_leaves_and_it_can_arrive_under_another_name(pool, other_pool, embedder):
    await populate(pool, embedder, "one")
    await populate(pool, embedder, "two")
    lines, _ = await exported(pool, tenant_id="one")
    await import_memories(other_pool, lines, embedder, tenant_id="renamed")
    before, after = await contents(pool, "one"), await contents(other_pool, "renamed")
    for rows in (*before.values(), *after.values()):
        for row in rows:
            row.pop("tenant_id")
    assert after == before
    assert not any((await contents(other_pool, "one")).values())


async def test_ids_of_another_tenant_are_conflicts_and_that_tenant_is_left_alone(pool, embedder):
    await populate(pool, embedder, "one")
    lines, counts = await exported(pool, tenant_id="one")
    before = await contents(pool, "one")
    result = await import_memories(pool, lines, embedder, tenant_id="two")
    assert result["fact"].conflicts == counts["fact"]
    assert result["event"].conflicts == counts["event"]
    assert await contents(pool, "one") == before
    assert not any((await contents(pool, "two")).values())


async def test_a_link_survives_the_deletion_of_one_of_its_ends(pool, other_pool, embedder):
    ids = await populate(pool, embedder)
    await pool.execute("DELETE FROM episodes WHERE id = $1", ids["episode"])
    lines, counts = await exported(pool)
    result = await import_memories(other_pool, lines, embedder)
    assert result["link"].inserted == counts["link"] == 2


async def test_a_key_that_is_taken_keeps_its_fact_and_is_reported(pool, other_pool, embedder):
    await populate(pool, embedder)
    kept = await store_fact(other_pool, "user", "likes", "water", embedder, now=NOW)
    lines, _ = await exported(pool)
    result = await import_memories(other_pool, lines, embedder)
    assert (result["fact"].inserted, result["fact"].conflicts) == (2, 1)
    active = await other_pool.fetchval("SELECT id FROM facts WHERE predicate = 'likes' AND validity = 'active'")
    assert active == kept


async def test_facts_follow_an_entity_whose_name_is_here_under_another_id(pool, other_pool, embedder):
    ids = await populate(pool, embedder)
    merged = await pool.fetchval(
        "INSERT INTO entities (canonical_name, metadata) VALUES ('Countess', $1::text::jsonb) RETURNING id",
        json.dumps({"merged_into": str(ids["entity"])}),
    )
    here = await other_pool.fetchval(
        "INSERT INTO entities (canonical_name, entity_type) VALUES ('Ada', 'person') RETURNING id"
    )
    lines, _ = await exported(pool)
    result = await import_memories(other_pool, lines, embedder)
    assert (result["entity"].inserted, result["entity"].conflicts) == (1, 1)
    assert await other_pool.fetchval("SELECT entity_id FROM facts WHERE subject = 'Ada'") == here
    target = await other_pool.fetchval("SELECT metadata ->> 'merged_into' FROM entities WHERE id = $1", merged)
    assert target == str(here)


async def test_more_lines_than_one_batch_arrive_with_progress(pool, other_pool, embedder):
    episodes = [NewEpisode(f"turn {n}", "jeeves") for n in range(BATCH_LINES + 20)]
    await store_episodes(pool, episodes, embedder, now=NOW)
    seen, lines = [], []
    await export_memories(pool, lines.append, progress=lambda *told: seen.append(told))
    assert seen[-3:][0] == ("episode", BATCH_LINES + 20, BATCH_LINES + 20)
    seen.clear()
    await import_memories(other_pool, lines, embedder, progress=lambda *told: seen.append(told))
    assert seen[:2] == [
        ("episode", BATCH_LINES, BATCH_LINES + 20),
        ("episode", BATCH_LINES + 20, BATCH_LINES + 20),
    ]
    assert (await contents(other_pool)) == (await contents(pool))


async def test_an_import_is_an_event_with_counts(pool, other_pool, embedder):
    await populate(pool, embedder)
    lines, counts = await exported(pool)
    await import_memories(other_pool, lines, embedder, request_context={"request_id": "r-9"}, now=NOW)
    event = await other_pool.fetchrow(
        "SELECT payload, request_id FROM memory_events WHERE event_type = 'memories_imported'"
    )
    assert (json.loads(event["payload"]), event["request_id"]) == (counts, "r-9")


async def test_an_export_is_one_moment_even_while_others_write(pool, embedder):
    await store_fact(pool, "user", "likes", "tea", embedder, now=NOW)
    async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read"):
        await connection.fetchval("SELECT count(*) FROM facts")
        await store_fact(pool, "user", "has", "a cat", embedder, now=NOW)
        _, counts = await exported(connection)
    assert counts["fact"] == 1


async def test_files_on_disk_can_be_written_and_read(pool, other_pool, embedder):
    await populate(pool, embedder)
    file = io.StringIO()
    await export_memories(pool, file.write)
    file.seek(0)
    await import_memories(other_pool, file, embedder)
    assert await contents(other_pool) == await contents(pool)


def changed(lines, number, **values):
    """Return the lines with one of them changed; the header is line 1."""
    row = {**json.loads(lines[number - 1]), **values}
    return [*lines[: number - 1], json.dumps(row), *lines[number:]]


BROKEN = {
    "an empty file": (lambda lines: [], r"line 1 is not JSON .*export the memories again"),
    "no header": (lambda lines: lines[1:], r"line 1 is not the header of a butler-memory export"),
    "a newer format": (lambda lines: changed(lines, 1, version=9), r"format version 9, this package reads 1; install"),
    "a header without counts": (lambda lines: changed(lines, 1, counts=None), "line 1 has no usable counts"),
    "a cut line": (lambda lines: [*lines[:-1], lines[-1][:20]], r"line \d+ is not JSON"),
    "a cut file": (lambda lines: lines[:-1], r"the file ends after \d+ of \d+ lines; nothing was imported"),
    "an unknown kind": (lambda lines: changed(lines, 2, kind="dream"), r"line 2 has kind 'dream', which is not one of"),
    "endless nesting": (lambda lines: [lines[0], "[" * 100_000], "line 2 is not JSON"),
    "no object": (lambda lines: [lines[0], "[1]"], "line 2 is not a JSON object"),
    "a bad id": (lambda lines: changed(lines, 2, id="nope"), r"lines 2 to 2 cannot be stored as entity .*nothing was"),
    "a missing value": (lambda lines: changed(lines, 3, content=None), r"lines 3 to \d+ cannot be stored as episode"),
}


@pytest.mark.parametrize("flaw", BROKEN)
async def test_a_broken_file_is_refused_with_its_line_and_nothing_is_imported(pool, other_pool, embedder, flaw):
    await populate(pool, embedder)
    lines, _ = await exported(pool)
    damage, message = BROKEN[flaw]
    with pytest.raises(InvalidInputError, match=message):
        await import_memories(other_pool, damage(lines), embedder)
    assert not any((await contents(other_pool)).values())


async def test_every_column_of_a_memory_is_exported_or_known_to_be_derived(pool, embedder):
    await populate(pool, embedder)
    lines, _ = await exported(pool)
    told = {kind: set() for kind in KINDS}
    for line in lines[1:]:
        row = json.loads(line)
        told[row["kind"]] |= set(row) - {"kind"}
    told["fact"] |= told["supersession"]
    derived = {"tenant_id", "consolidated", "retry_count", "last_error", "search_names", *OWN_COLUMNS}
    tables = {
        "entities": "entity",
        "episodes": "episode",
        "session_turns": "session_turn",
        "facts": "fact",
        "rules": "rule",
        "rule_applications": "rule_application",
        "memory_links": "link",
        "memory_events": "event",
    }
    for table, kind in tables.items():
        rows = await pool.fetch("SELECT column_name FROM information_schema.columns WHERE table_name = $1", table)
        assert {row["column_name"] for row in rows} - derived == told[kind], table
