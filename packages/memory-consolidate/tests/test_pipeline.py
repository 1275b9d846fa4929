"""The way from waiting episodes to facts and rules, and every way in which it can fail."""

from memory_consolidate import run_consolidation

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
