"""Turns of a conversation are found by what is said around them."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from memory_core import (
    NewEpisode,
    get_memory,
    keyword_search,
    search,
    semantic_search,
    store_episode,
    store_episodes,
    store_fact,
)
from memory_core.session_context import words_for_neighbours

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def vector_of(pool, episode_id):
    text = await pool.fetchval("SELECT embedding::text FROM episodes WHERE id = $1", episode_id)
    return [float(number) for number in text.strip("[]").split(",")]


def blended(embedder, own, *neighbours):
    """Three parts of the turn itself, one of each neighbour; an absent neighbour is the turn itself."""
    parts = [embedder.embed(own)] * 3 + [embedder.embed(text or own) for text in neighbours]
    total = [sum(column) for column in zip(*parts, strict=True)]
    length = sum(number * number for number in total) ** 0.5
    return [number / length for number in total]


async def found(pool, word):
    return {result["content"] for result in await keyword_search(pool, word, "episodes", limit=50, now=NOW)}


async def test_a_turn_is_found_by_the_words_before_and_after_it(pool, embedder):
    session = uuid4()
    turns = ["Did you ever visit Lisbon?", "Yes, last May!", "How was the custard there?", "Sweet."]
    await store_episodes(pool, [NewEpisode(turn, "jeeves", session) for turn in turns], embedder)
    assert await found(pool, "Lisbon") == set(turns[:2])
    assert await found(pool, "custard") == set(turns[1:])


async def test_a_turns_own_words_rank_above_its_neighbours(pool, embedder):
    session = uuid4()
    turns = ["I went to Lisbon", "Good for you", "Thank you"]
    await store_episodes(pool, [NewEpisode(turn, "jeeves", session) for turn in turns], embedder)
    results = await keyword_search(pool, "Lisbon", "episodes")
    assert [result["content"] for result in results] == turns[:2]
    assert results[0]["rank"] > results[1]["rank"]


async def test_the_index_is_kept_current_as_the_session_grows(pool, embedder):
    session = uuid4()
    first = await store_episode(pool, "alpha", "jeeves", embedder, session_id=session, now=NOW)
    assert await vector_of(pool, first) == pytest.approx(embedder.embed("alpha"), abs=1e-5)
    second = await store_episode(pool, "beta", "jeeves", embedder, session_id=session, now=NOW + timedelta(minutes=1))
    assert await vector_of(pool, first) == pytest.approx(blended(embedder, "alpha", "beta", None), abs=1e-5)
    await store_episode(pool, "gamma", "jeeves", embedder, session_id=session, now=NOW + timedelta(minutes=2))
    assert await vector_of(pool, second) == pytest.approx(blended(embedder, "beta", "alpha", "gamma"), abs=1e-5)
    assert await found(pool, "gamma") == {"beta", "gamma"}


async def test_a_turn_that_arrives_late_takes_its_place_by_time(pool, embedder):
    session = uuid4()
    times = {"alpha": 0, "gamma": 20, "beta": 10}
    for word, minutes in times.items():
        await store_episode(pool, word, "jeeves", embedder, session_id=session, now=NOW + timedelta(minutes=minutes))
    assert await found(pool, "alpha") == {"alpha", "beta"}
    assert await found(pool, "gamma") == {"beta", "gamma"}


async def test_storing_all_at_once_and_one_by_one_gives_the_same_index(pool, embedder):
    turns = [f"word{n} word{n + 1}" for n in range(80)]
    sessions = [uuid4(), uuid4()]
    await store_episodes(pool, [NewEpisode(turn, "jeeves", sessions[0], created_at=NOW) for turn in turns], embedder)
    for turn in turns:
        await store_episode(pool, turn, "jeeves", embedder, session_id=sessions[1], now=NOW)
    rows = await pool.fetch(
        "SELECT count(*), count(DISTINCT search_vector) AS words, count(DISTINCT embedding) AS vectors"
        " FROM episodes GROUP BY content"
    )
    assert {tuple(row) for row in rows} == {(2, 1, 1)}


async def test_the_content_that_is_returned_stays_untouched(pool, embedder):
    session = uuid4()
    ids = await store_episodes(pool, [NewEpisode(f"turn {n}", "jeeves", session) for n in range(3)], embedder)
    assert (await get_memory(pool, "episode", ids[1]))["content"] == "turn 1"


async def test_episodes_without_a_session_and_other_sessions_are_as_before(pool, embedder):
    await store_episode(pool, "alpha", "jeeves", embedder, session_id=uuid4())
    await store_episode(pool, "beta", "jeeves", embedder, session_id=uuid4())
    lone = await store_episode(pool, "gamma", "jeeves", embedder)
    await store_episode(pool, "delta", "jeeves", embedder)
    assert await vector_of(pool, lone) == pytest.approx(embedder.embed("gamma"), abs=1e-6)
    for word in ("alpha", "beta", "gamma", "delta"):
        assert await found(pool, word) == {word}


async def test_two_tenants_with_one_session_id_do_not_meet(pool, embedder):
    session = uuid4()
    await store_episode(pool, "alpha", "jeeves", embedder, session_id=session)
    await store_episode(pool, "beta", "jeeves", embedder, session_id=session, tenant_id="other")
    assert await found(pool, "alpha") == {"alpha"}
    assert await keyword_search(pool, "alpha", "episodes", tenant_id="other") == []


async def test_a_long_text_neither_gives_nor_takes_context(pool, embedder):
    session = uuid4()
    long = "report " * 150
    turns = ["alpha", long, "beta"]
    ids = await store_episodes(pool, [NewEpisode(turn, "jeeves", session) for turn in turns], embedder)
    assert await found(pool, "report") == {long}
    assert await found(pool, "alpha") == {"alpha"}
    assert await vector_of(pool, ids[1]) == pytest.approx(embedder.embed(long), abs=1e-5)


async def test_writers_that_extend_one_session_at_once_see_each_other(pool, embedder):
    session = uuid4()
    words = [f"word{n}" for n in range(12)]
    await asyncio.gather(
        *(store_episode(pool, word, "jeeves", embedder, session_id=session, now=NOW) for word in words)
    )
    # Whatever their order: each word is carried by its own turn and by those beside it, two at the ends.
    assert sorted([len(await found(pool, word)) for word in words]) == [2, 2] + [3] * 10


async def test_a_turn_gives_its_words_but_not_its_speaker(pool, embedder):
    session = uuid4()
    turns = ["Ada: I wrote a program", "Charles: Splendid"]
    await store_episodes(pool, [NewEpisode(turn, "jeeves", session) for turn in turns], embedder)
    assert await found(pool, "program") == set(turns)
    assert await found(pool, "Ada") == {turns[0]}
    assert words_for_neighbours("Ada Lovelace: hello\nworld") == "hello world"
    assert words_for_neighbours("note: this") == "note: this"


async def test_a_fact_is_found_by_the_words_of_the_episode_it_came_from(pool, embedder):
    episode = await store_episode(pool, "We talked about custard in Lisbon", "jeeves", embedder)
    fact = await store_fact(pool, "user", "last trip", "Portugal", embedder, source_episode_id=episode)
    await store_fact(pool, "user", "next trip", "Spain", embedder)
    assert [result["id"] for result in await keyword_search(pool, "custard", "facts")] == [fact]
    [nearest, *_] = await semantic_search(pool, embedder.embed("custard in Lisbon"), "facts")
    assert nearest["id"] == fact
    assert nearest["content"] == "Portugal"


async def test_a_search_finds_the_answer_by_its_question(pool, embedder):
    session = uuid4()
    turns = ["Ada: Which town did you like most?", "Charles: Lisbon, by far", "Ada: Why so?"]
    await store_episodes(pool, [NewEpisode(turn, "jeeves", session) for turn in turns], embedder)
    await store_episode(pool, "an unrelated remark", "jeeves", embedder)
    results = await search(pool, "Which town did Charles like?", embedder, limit=2)
    assert "Charles: Lisbon, by far" in {result["content"] for result in results}
