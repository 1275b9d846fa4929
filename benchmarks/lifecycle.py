"""What the upkeep of a large database costs: decay sweeps, cleanup, export and import, and the memory of the process.

    uv run python benchmarks/lifecycle.py --facts 1000000 --episodes 200000

It starts an embedded server of its own in a temporary directory and removes it afterwards. Rows are made by the server
with vectors only if --vectors is given: the sweep never reads one, but an expired fact moves within its table.
"""

import argparse
import asyncio
import resource
import shutil
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
from memory_core import export_memories, import_memories, migrate, run_decay_sweep, run_episode_cleanup
from memory_core.embedded import EmbeddedServer
from memory_core.testing import WordHashEmbedder

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

# A third will expire, a third will fade, a third is fresh; ten tenants.
FILL_FACTS = """
    INSERT INTO facts (tenant_id, subject, predicate, content, created_at, last_confirmed_at, embedding, search_vector)
    SELECT
        'tenant ' || n % 10, 'subject ' || n, 'predicate', 'what is true of number ' || n, confirmed.at, confirmed.at,
        CASE WHEN $2 THEN vectors.embedding END,
        to_tsvector('english', 'subject predicate what is true of number ' || n)
    FROM generate_series(1, $1::int) AS n
    CROSS JOIN LATERAL (SELECT $3::timestamptz - (n % 3) * interval '230 days' AS at) AS confirmed
    CROSS JOIN (SELECT array_agg(sin(d))::real[]::vector AS embedding FROM generate_series(1, 384) AS d) AS vectors
"""
FILL_EPISODES = """
    INSERT INTO episodes (tenant_id, butler, content, consolidation_status, created_at, expires_at, search_vector)
    SELECT
        'tenant ' || n % 10, 'jeeves', 'what happened at number ' || n, 'consolidated',
        $2::timestamptz - n * interval '1 second', $2::timestamptz - interval '1 day' * (n % 2),
        to_tsvector('english', 'what happened at number ' || n)
    FROM generate_series(1, $1::int) AS n
"""


class OneVector(WordHashEmbedder):
    """Answers every text with the same vector at once."""

    def __init__(self):
        super().__init__(model="benchmark")
        self.vector = self.embed("anything")

    def embed_batch(self, texts):
        return [self.vector] * len(texts)


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def measured(title, work):
    """Run work, print what it took, and return its answer."""
    before, started = peak_mb(), time.perf_counter()
    answer = await work
    seconds = time.perf_counter() - started
    told = ", ".join(f"{name} {count:,}" for name, count in answer.items() if count)
    print(f"{title:34} {seconds:8.2f} s   peak memory +{peak_mb() - before:5.1f} MB   {told or 'nothing to do'}")
    return answer


async def measure_sweeps(pool, facts):
    await pool.execute("VACUUM ANALYZE facts")
    await measured(f"first sweep of {facts:,} facts", run_decay_sweep(pool, tenant_id=None, now=NOW))
    await measured("second sweep, same day", run_decay_sweep(pool, tenant_id=None, now=NOW))
    await pool.execute("VACUUM ANALYZE facts")
    await measured(
        "sweep of the next day, vacuumed", run_decay_sweep(pool, tenant_id=None, now=NOW + timedelta(days=1))
    )


async def measure_cleanup(pool, episodes):
    title = f"cleanup of {episodes:,} episodes"
    await measured(title, run_episode_cleanup(pool, episodes // 100, tenant_id=None, now=NOW))


async def measure_export(pool, directory):
    path = Path(directory) / "export.jsonl"
    embedder = OneVector()
    with path.open("w", encoding="utf-8") as file:
        counts = await measured("export of one tenant", export_memories(pool, file.write, tenant_id="tenant 1"))
    lines = sum(counts.values())
    print(f"{'':34} {path.stat().st_size / 1e6:8.1f} MB  in {lines:,} lines")
    with path.open(encoding="utf-8") as file:
        await measured("import of the same, unchanged", _imported(pool, file, embedder))


async def _imported(pool, file, embedder):
    counts = await import_memories(pool, file, embedder, tenant_id="tenant 1")
    return {kind: told.unchanged for kind, told in counts.items()}


async def main(arguments):
    data_dir = Path(tempfile.mkdtemp(prefix="memory-benchmark-"))
    try:
        with EmbeddedServer(data_dir) as server:
            async with asyncpg.create_pool(server.dsn, min_size=1, max_size=4) as pool:
                await migrate(pool)
                # Searched by nothing here, and an index of equal vectors would be measured instead of the sweep.
                await pool.execute("DROP INDEX facts_embedding_idx")
                await pool.execute(FILL_FACTS, arguments.facts, arguments.vectors, NOW, timeout=3600)
                await pool.execute(FILL_EPISODES, arguments.episodes, NOW, timeout=3600)
                print(
                    f"{arguments.facts:,} facts ({'with' if arguments.vectors else 'without'} vectors), "
                    f"{arguments.episodes:,} episodes, 10 tenants"
                )
                await measure_sweeps(pool, arguments.facts)
                await measure_cleanup(pool, arguments.episodes)
                with tempfile.TemporaryDirectory() as directory:
                    await measure_export(pool, directory)
    finally:
        shutil.rmtree(data_dir, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=1_000_000)
    parser.add_argument("--episodes", type=int, default=200_000)
    parser.add_argument("--vectors", action="store_true")
    asyncio.run(main(parser.parse_args()))
