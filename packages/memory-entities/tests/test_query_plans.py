"""Every tier is served from an index: the plans of the very statements that resolution runs."""

import json

import pytest
from memory_core.queries import load_queries
from memory_entities.candidate_tiers import FUZZY_THRESHOLD, MAX_CANDIDATES
from memory_entities.neighbourhood import MAX_FACT_LETTERS, MAX_FACTS

RESOLUTION = load_queries("resolution", package="memory_entities")
REGISTRY = load_queries("registry", package="memory_entities")


@pytest.fixture
async def connection(pool):
    async with pool.acquire() as held:
        await held.execute(
            "INSERT INTO entities (tenant_id, canonical_name, aliases)"
            " SELECT CASE WHEN n <= 2000 THEN 'default' ELSE 'other' END, 'Person ' || md5(n::text),"
            " ARRAY['alias ' || md5((-n)::text)] FROM generate_series(1, 3000) AS n"
        )
        await held.execute("ANALYZE entities")
        yield held


async def explain(connection, query, *arguments, options="FORMAT JSON"):
    text = await connection.fetchval(f"EXPLAIN ({options}) {query}", *arguments)
    return list(_nodes(json.loads(text)[0]["Plan"]))


def _nodes(plan):
    yield plan
    for child in plan.get("Plans", []):
        yield from _nodes(child)


def indexes(nodes):
    assert [node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"] == []
    return {node["Index Name"] for node in nodes if "Index Name" in node}


async def test_every_tier_comes_from_an_index_whatever_the_name_and_the_kind_of_plan(connection):
    whole = "Person c4ca4238a0b923820dcc509a6f75849b"
    await connection.fetch(RESOLUTION["prepare_fuzzy"], str(FUZZY_THRESHOLD))
    for mode in ("force_custom_plan", "force_generic_plan"):
        await connection.execute(f"SET plan_cache_mode = {mode}")
        for name in (whole, whole.lower(), "alias 6bb61e3b7bce0931da574d19d1d82c88", "c4ca", "c4", "q", "東"):
            asked = ("default", name, None, [], MAX_CANDIDATES)
            nodes = await explain(connection, RESOLUTION["named_candidates"], *asked)
            assert indexes(nodes) == {"entities_name_grams_idx"}, (mode, name)
            nodes = await explain(connection, RESOLUTION["fuzzy_candidates"], *asked, FUZZY_THRESHOLD)
            assert indexes(nodes) == {"entities_name_trigrams_idx"}, (mode, name)


async def test_a_tenant_reads_no_index_entry_of_another(connection):
    asked = ("small", "Person", None, [], MAX_CANDIDATES)
    nodes = await explain(connection, RESOLUTION["named_candidates"], *asked, options="ANALYZE, FORMAT JSON")
    assert [node["Actual Rows"] for node in nodes if "Index Name" in node] == [0]


async def test_the_facts_of_candidates_come_in_index_order_and_an_entity_by_its_key(connection):
    await connection.execute(
        "INSERT INTO facts (subject, predicate, content, entity_id)"
        " SELECT canonical_name, 'p' || n, 'x', id FROM entities, generate_series(1, 3) AS n"
    )
    await connection.execute("ANALYZE facts")
    ids = [row["id"] for row in await connection.fetch("SELECT id FROM entities LIMIT 20")]
    nodes = await explain(connection, RESOLUTION["facts_of_candidates"], "default", ids, MAX_FACTS, MAX_FACT_LETTERS)
    assert indexes(nodes) == {"facts_active_entity_key"}
    assert "Sort" not in {node["Node Type"] for node in nodes}
    assert indexes(await explain(connection, REGISTRY["surviving_entity"], "default", ids[0])) == {"entities_pkey"}
