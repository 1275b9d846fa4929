"""The story of `memory demo`: a butler's first week, told through the tools that a model would call."""

from typing import Any

from memory_mcp.demo_stage import Stage

BUTLER = "jeeves"
EPISODES = (
    "Booked the 18:05 train to Porto for the user: a window seat in the quiet coach, as they always ask for.",
    "Dinner with Ana. The user took the mushroom risotto and said they have eaten no meat for a year.",
    "The plumber's invoice of 340 euros was paid at once; the user was upset that nobody had asked them first.",
)


async def tell(stage: Stage) -> None:
    """Tell the whole story."""
    await _what_happened(stage)
    first_home, guest_wifi = await _what_is_true(stage)
    rule = await _how_to_behave(stage)
    await _facts_change(stage, first_home)
    await _search(stage)
    await _recall(stage, rule)
    await _context(stage)
    await _forget(stage, guest_wifi)
    await _count(stage)


async def _what_happened(stage: Stage) -> None:
    stage.chapter("What happened", "An episode is an observation. It is kept for a week, to be distilled later.")
    for content in EPISODES:
        await stage.call("memory_store_episode", content=content, butler=BUTLER)
    stage.answer(f"{len(EPISODES)} episodes stored")


async def _what_is_true(stage: Stage) -> tuple[dict[str, Any], dict[str, Any]]:
    stage.chapter("What is true", "A fact has a subject and a predicate, and a permanence: how quickly it fades.")
    home = await _store_fact(stage, "home_city", "The user lives in Lisbon, in Alfama.", "stable")
    await _store_fact(stage, "diet", "The user is a vegetarian.", "stable")
    wifi = await _store_fact(stage, "guest_wifi", "The guests' wifi password is tulip-42.", "ephemeral")
    stage.answer("3 facts stored")
    return home, wifi


async def _how_to_behave(stage: Stage) -> dict[str, Any]:
    stage.chapter("How to behave", "A rule begins as a candidate. Feedback makes it established, proven, or a warning.")
    rule: dict[str, Any] = await stage.call(
        "memory_store_rule", content="Show the user every bill above 200 euros before paying it."
    )
    marked = await stage.call("memory_mark_helpful", rule_id=rule["id"])
    stage.answer(f"{marked['maturity']}, helpful {marked['success_count']} of {marked['applied_count']} times")
    return rule


async def _facts_change(stage: Stage, first_home: dict[str, Any]) -> None:
    stage.chapter("Facts change", "Same subject and predicate: the new fact takes the place of the old one, on record.")
    moved = await _store_fact(stage, "home_city", "The user has moved to Porto, near the river.", "stable")
    for fact in (first_home, moved):
        found = (await stage.call("memory_get", memory_type="fact", memory_id=fact["id"]))["memory"]
        stage.answer(f"{found['state']}: {found['content']}")
    again = await _store_fact(stage, "home_city", "The user has moved to Porto, near the river.", "stable")
    same = "the same fact, now confirmed" if again["id"] == moved["id"] else "another fact"
    stage.answer(f"told again: {same}")


async def _search(stage: Stage) -> None:
    stage.chapter("Search", "By meaning and by words at once: no memory has the word 'cook' or 'town' in it.")
    for query in ("What may I cook tonight?", "Which town is home?"):
        stage.found(await stage.call("memory_search", query=query, limit=3), "similarity")


async def _recall(stage: Stage, rule: dict[str, Any]) -> None:
    stage.chapter("Recall", "Before acting: what is relevant, important, fresh and certain, in one score.")
    recalled = await stage.call("memory_recall", topic="Paying the electrician's bill", limit=3)
    stage.found(recalled, "composite_score")
    if rule["id"] in {memory["id"] for memory in recalled}:
        stage.answer("the rule from above is there when it is needed")


async def _context(stage: Stage) -> None:
    stage.chapter("Context", "One block of text, within a budget, to be put before a session's instructions.")
    prompt = "Plan a dinner at home for Friday"
    stage.block(await stage.call("memory_context", trigger_prompt=prompt, butler=BUTLER, token_budget=200))


async def _forget(stage: Stage, guest_wifi: dict[str, Any]) -> None:
    stage.chapter("Forget", "What is forgotten is found no more; that it was there stays on record.")
    question = "the guests' wifi password"
    stage.found(await stage.call("memory_search", query=question, limit=1), "similarity")
    await stage.call("memory_forget", memory_type="fact", memory_id=guest_wifi["id"])
    left = await stage.call("memory_search", query=question, limit=10)
    gone = guest_wifi["id"] not in {memory["id"] for memory in left}
    stage.answer("forgotten: no search finds it" if gone else "still found")


async def _count(stage: Stage) -> None:
    stage.chapter("Count", "Every memory is in one state, and every change of state wrote an event.")
    stage.counts(await stage.call("memory_stats"))


async def _store_fact(stage: Stage, predicate: str, content: str, permanence: str) -> dict[str, Any]:
    stored: dict[str, Any] = await stage.call(
        "memory_store_fact", subject="user", predicate=predicate, content=content, permanence=permanence
    )
    return stored
