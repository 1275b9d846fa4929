"""Moving all vectors to another model while the memory is in use."""

import asyncio
import subprocess
import sys
import textwrap
from uuid import uuid4

import pytest
from memory_core import EmbeddingError, NewEpisode, store_episode, store_episodes, store_fact, store_rule
from memory_core.database import transaction
from memory_core.generations import Generation, active_generation, hold_generation
from memory_core.reembedding import reembed
from memory_core.testing import WordHashEmbedder

from tests.schema_snapshot import describe_schema


class Negated(WordHashEmbedder):
    """A second model whose vectors point the other way: the slightest mixture would show."""

    def __init__(self, dimensions=384):
        super().__init__(model="negated", dimensions=dimensions)

    def embed(self, text):
        return [-value for value in super().embed(text)]


@pytest.fixture
async def filled(pool, embedder):
    await store_episodes(pool, [NewEpisode(f"episode number {n}", "b") for n in range(150)], embedder)
    await store_episode(pool, "First turn", "b", embedder, session_id=(session := uuid4()))
    source = await store_episode(pool, "Second turn", "b", embedder, session_id=session)
    await store_fact(pool, "user", "city", "Rome", embedder, source_episode_id=source)
    await store_fact(pool, "user", "job", "pilot", embedder, tenant_id="other")
    await store_rule(pool, "Greet politely", embedder)
    return pool


@pytest.mark.scenario("Re-embed migration support")
async def test_every_vector_is_made_anew_and_the_schema_stays_the_same(filled):
    async with filled.acquire() as connection:
        before = await describe_schema(connection)
    seen = []
    result = await reembed(filled, Negated(), batch_size=40, progress=lambda done, total: seen.append((done, total)))
    assert (result.before.model, result.after.model, result.memories) == ("word-hash", "negated", 155)
    assert seen[0] == (0, 155)
    assert seen[-1] == (155, 155)
    await _assert_all_of(filled, Negated())
    async with filled.acquire() as connection:
        assert await describe_schema(connection) == before
        assert await active_generation(connection) == Generation("negated", "1", 384)


async def test_turns_and_sourced_facts_take_in_their_context_again(filled, embedder):
    query = (
        "SELECT embedding::text FROM episodes WHERE session_id IS NOT NULL"
        " UNION ALL SELECT embedding::text FROM facts WHERE source_episode_id IS NOT NULL ORDER BY 1"
    )
    words = "SELECT search_vector::text FROM facts ORDER BY 1"
    before = [_numbers(row[0]) for row in await filled.fetch(query)]
    indexed = await filled.fetch(words)
    await reembed(filled, Negated())
    after = [[-value for value in _numbers(row[0])] for row in await filled.fetch(query)]
    for vector in before:
        assert any(vector == pytest.approx(other, abs=1e-5) for other in after)
    assert await filled.fetch(words) == indexed


async def test_doing_it_again_changes_nothing(filled, embedder):
    assert (await reembed(filled, embedder)).memories == 0
    await reembed(filled, Negated())
    assert (await reembed(filled, Negated())).memories == 0


async def test_one_can_go_back_to_an_earlier_model(filled, embedder):
    await reembed(filled, Negated())
    await reembed(filled, embedder)
    await _assert_all_of(filled, embedder)
    await store_fact(filled, "user", "pet", "cat", embedder)


async def test_writers_and_readers_never_see_two_generations(filled, embedder):
    """While the run goes on, a writer with the old model stores and a reader checks every vector it sees."""
    models = {"word-hash": embedder, "negated": Negated()}
    stop = asyncio.Event()
    written, checked = [], []

    async def write():
        while not stop.is_set():
            try:
                written.append(await store_episode(filled, f"late episode {len(written)}", "b", embedder))
            except EmbeddingError:
                return

    async def read():
        while not stop.is_set():
            async with transaction(filled) as connection:
                active = await hold_generation(connection)
                rows = await connection.fetch(
                    f"SELECT content, vector FROM ({PLAIN}) AS plain ORDER BY random() LIMIT 5"
                )
            for row in rows:
                expected = models[active.model].embed(row["content"])
                assert _numbers(row["vector"]) == pytest.approx(expected, abs=1e-5)
            checked.append(active.model)

    tasks = [asyncio.create_task(write()), asyncio.create_task(read()), asyncio.create_task(read())]
    await reembed(filled, Negated(), batch_size=10)
    while checked.count("negated") < 3:
        await asyncio.sleep(0)
        assert not tasks[1].done(), tasks[1].exception()
    stop.set()
    await asyncio.gather(*tasks)
    assert written
    assert set(checked) == {"word-hash", "negated"}
    await _assert_all_of(filled, Negated())


async def test_a_killed_run_is_resumed_where_it_was(filled, dsn):
    program = """
        import asyncio, os, signal, sys, asyncpg
        from memory_core.reembedding import reembed
        from memory_core.testing import WordHashEmbedder
        class Negated(WordHashEmbedder):
            def embed(self, text):
                return [-value for value in super().embed(text)]
        def progress(done, total):
            if done >= 100:
                os.kill(os.getpid(), signal.SIGKILL)
        async def main():
            async with asyncpg.create_pool(sys.argv[1], min_size=1, max_size=4) as pool:
                await reembed(pool, Negated(model="negated"), batch_size=50, progress=progress)
        asyncio.run(main())
    """
    process = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", textwrap.dedent(program), dsn], capture_output=True
    )
    assert process.returncode == -9, process.stderr.decode()
    async with filled.acquire() as connection:
        assert (await active_generation(connection)).model == "word-hash"
    result = await reembed(filled, Negated())
    assert result.memories == 55
    await _assert_all_of(filled, Negated())


async def test_an_unfinished_run_to_another_model_is_dropped(filled, embedder):
    await filled.execute(
        "INSERT INTO embedding_versions (model, version, dimensions, status) VALUES ('third', '1', 384, 'migrating')"
    )
    for table in ("episodes", "facts", "rules", "session_turns"):
        await filled.execute(f"ALTER TABLE {table} ADD COLUMN next_embedding vector(384)")
    await filled.execute("UPDATE episodes SET next_embedding = embedding")
    await reembed(filled, Negated())
    await _assert_all_of(filled, Negated())


async def test_another_dimension_is_refused_until_it_is_asked_for(filled):
    shorter = Negated(dimensions=64)
    with pytest.raises(EmbeddingError, match=r"have 384 dimensions .* ask for it with --change-dimensions"):
        await reembed(filled, shorter)
    await reembed(filled, shorter, change_dimensions=True)
    await _assert_all_of(filled, shorter)
    assert await filled.fetchval("SELECT vector_dims(embedding) FROM facts LIMIT 1") == 64
    await store_fact(filled, "user", "pet", "cat", shorter)


async def test_an_empty_database_refuses_vectors_of_another_length_with_the_remedy(pool):
    shorter = Negated(dimensions=64)
    with pytest.raises(EmbeddingError, match=r"columns have 384 dimensions.* run `memory reembed --change-dimensions`"):
        await store_fact(pool, "user", "pet", "cat", shorter)
    await reembed(pool, shorter, change_dimensions=True)
    await store_fact(pool, "user", "pet", "cat", shorter)


async def test_two_runs_at_once_are_refused(filled):
    async with filled.acquire() as connection, connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1::int, 1)", 0x6D6567)
        with pytest.raises(EmbeddingError, match="another process is reembedding"):
            await reembed(filled, Negated())


# Memories whose vector is that of their own text alone.
PLAIN = """
    SELECT content, embedding::text AS vector FROM episodes WHERE session_id IS NULL
    UNION ALL
    SELECT subject || ' ' || predicate || ' ' || content, embedding::text FROM facts WHERE source_episode_id IS NULL
    UNION ALL
    SELECT content, embedding::text FROM rules
"""


async def _assert_all_of(pool, embedder):
    rows = await pool.fetch(PLAIN)
    assert len(rows) >= 152
    for row in rows:
        assert _numbers(row["vector"]) == pytest.approx(embedder.embed(row["content"]), abs=1e-5)


def _numbers(text):
    return [float(part) for part in text.strip("[]").split(",")]
