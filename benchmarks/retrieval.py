"""What search, recall and context cost as a memory grows, beside the bare SQL that they need, and what they miss.

    uv run python benchmarks/retrieval.py [--sizes 1000,10000,100000] [--queries 40] [--json]

Facts with synthetic texts (word frequencies as in English) and clustered vectors; one tenant owns 99.5% of them, one
0.5%. For each query the bare SQL, search, recall and context run in turns, so that a busy machine slows all alike. The
bare SQL is one vector query and one full-text query for any of the words that fewer than a tenth of the facts carry, in
one transaction on one connection, 100 rows each. Recall@10 is the part of the exact ten nearest facts that a semantic
search returns; fewer rows than there are end the run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from hashlib import blake2b
from statistics import fmean, median
from typing import Any

import asyncpg
import numpy as np
from memory_core import NewFact, memory_context, migrate, recall, search, semantic_search, store_facts
from memory_core.database import transaction
from memory_core.embedded import EmbeddedServer
from memory_core.index_maintenance import maintain_indexes
from memory_core.keyword_terms import COMMON_FREQUENCY

DIMENSIONS = 384
TOPICS = 200
VOCABULARY = 20_000
LARGE, SMALL = "large", "small"
SMALL_SHARE = 0.005
DEPTH = 100
BATCH = 5_000


class ClusteredEmbedder:
    """Vectors that lie around the topic that a text begins with, as those of real texts do, and cost no model."""

    model, version, dimensions = "clustered", "1", DIMENSIONS

    def __init__(self) -> None:
        self.topics = np.random.default_rng(1).normal(size=(TOPICS, DIMENSIONS)).astype(np.float32)

    def embed(self, text: str | None) -> list[float]:
        words = (text or " ").split()
        topic = next((int(word[5:]) for word in words if word.startswith("topic")), 0)
        seed = int.from_bytes(blake2b((text or "").encode(), digest_size=8).digest())
        vector = self.topics[topic] + np.random.default_rng(seed).normal(size=DIMENSIONS).astype(np.float32)
        return [float(number) for number in vector / np.linalg.norm(vector)]

    def embed_batch(self, texts: Sequence[str | None]) -> list[list[float]]:
        return [self.embed(text) for text in texts]


def sentence(chance: random.Random, words: int) -> str:
    """A text about a topic, its words as frequent as Zipf says."""
    picked = (f"w{int(VOCABULARY ** chance.random())}" for _ in range(words))
    return f"topic{chance.randrange(TOPICS)} " + " ".join(picked)


async def fill(pool: Any, embedder: ClusteredEmbedder, size: int) -> None:
    """Bring the two tenants to `size` facts together, and the tables to what the maintenance worker makes of them."""
    for tenant, wanted in ((SMALL, max(20, int(size * SMALL_SHARE))), (LARGE, size - int(size * SMALL_SHARE))):
        there = await pool.fetchval("SELECT count(*) FROM facts WHERE tenant_id = $1", tenant)
        for start in range(there, wanted, BATCH):
            numbers = range(start, min(start + BATCH, wanted))
            facts = [NewFact(f"s{n}", "p", sentence(random.Random(f"{tenant} {n}"), 12)) for n in numbers]
            await store_facts(pool, facts, embedder, tenant_id=tenant)
    await pool.execute("VACUUM ANALYZE facts")
    await maintain_indexes(pool)


async def bare_sql(pool: Any, query: str, vector: Sequence[float], tenant: str) -> None:
    """One vector query and one full-text query, as somebody would write them who knows what they need."""
    async with transaction(pool) as connection:
        await connection.execute("SET LOCAL plan_cache_mode = force_custom_plan")
        await connection.execute("SET LOCAL hnsw.ef_search = 200")
        await connection.execute("SET LOCAL ivfflat.probes = 20")
        await connection.execute("SET LOCAL hnsw.iterative_scan = relaxed_order")
        await connection.fetch(
            "SELECT id, content, 1 - (embedding <=> $2::real[]::vector) AS similarity FROM facts"
            " WHERE tenant_id = $1 AND validity = 'active' ORDER BY embedding <=> $2::real[]::vector LIMIT $3",
            tenant,
            vector,
            DEPTH,
        )
        await connection.fetch(
            "SELECT id, content, ts_rank(search_vector, $2::text::tsquery, 1) AS rank FROM facts"
            " WHERE tenant_id = $1 AND validity = 'active' AND search_vector @@ $2::text::tsquery"
            " ORDER BY rank DESC LIMIT $3",
            tenant,
            query,
            DEPTH,
        )


async def rare_terms(pool: Any, text: str) -> str:
    """The words that fewer than a tenth of the facts carry, joined by OR."""
    common = await pool.fetch(
        "SELECT word FROM pg_stats, unnest(most_common_elems::text::text[], most_common_elem_freqs) AS c (word, part)"
        " WHERE tablename = 'facts' AND attname = 'search_vector' AND part >= $1",
        COMMON_FREQUENCY,
    )
    known = {row["word"] for row in common}
    return " | ".join(f"'{word}'" for word in dict.fromkeys(text.split()) if word not in known)


async def elapsed(work: Awaitable[Any]) -> float:
    started = time.perf_counter()
    await work
    return (time.perf_counter() - started) * 1000


async def latencies(pool: Any, embedder: ClusteredEmbedder, tenant: str, queries: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"bare": [], "search": [], "recall": [], "context": []}
    for number in range(-3, queries):
        text = sentence(random.Random(f"query {number}"), 6)
        vector, terms = embedder.embed(text), await rare_terms(pool, text)
        steps: dict[str, Callable[[], Awaitable[Any]]] = {
            "bare": lambda t=terms, v=vector: bare_sql(pool, t, v, tenant),
            "search": lambda q=text: search(pool, q, embedder, tenant_id=tenant),
            "recall": lambda q=text: recall(pool, q, embedder, tenant_id=tenant),
            "context": lambda q=text: memory_context(pool, q, "jeeves", embedder, tenant_id=tenant),
        }
        # Whoever comes first would read the pages for all: they are read once before, and the first place rotates.
        await steps["bare"]()
        names = list(steps)
        first = number % len(names)
        for name in names[first:] + names[:first]:
            took = await elapsed(steps[name]())
            if number >= 0:  # the first queries warm up caches and plans
                times[name].append(took)
    return times


async def recall_at_10(pool: Any, embedder: ClusteredEmbedder, tenant: str, queries: int) -> float:
    parts = []
    for number in range(queries):
        vector = embedder.embed(sentence(random.Random(f"recall {number}"), 6))
        exact = await pool.fetch(
            "SELECT id FROM facts WHERE tenant_id = $1 AND validity = 'active'"
            " ORDER BY (embedding <=> $2::real[]::vector) + 0 LIMIT 10",
            tenant,
            vector,
        )
        found = await semantic_search(pool, vector, "facts", limit=10, tenant_id=tenant)
        if len(found) != len(exact):
            raise SystemExit(f"{tenant}: {len(found)} of {len(exact)} rows were returned")
        parts.append(len({row["id"] for row in exact} & {row["id"] for row in found}) / len(exact))
    return fmean(parts)


def percentile(values: Sequence[float], part: float) -> float:
    return sorted(values)[max(0, math.ceil(part * len(values)) - 1)]


async def measure(dsn: str, sizes: Sequence[int], queries: int) -> list[dict[str, Any]]:
    embedder, rows = ClusteredEmbedder(), []
    async with asyncpg.create_pool(dsn, min_size=1, max_size=1) as pool:
        await migrate(pool)
        for size in sizes:
            await fill(pool, embedder, size)
            for tenant in (LARGE, SMALL):
                times = await latencies(pool, embedder, tenant, queries)
                row: dict[str, Any] = {"memories": size, "tenant": tenant}
                row["recall@10"] = round(await recall_at_10(pool, embedder, tenant, queries), 3)
                for name, values in times.items():
                    row[f"{name} p50 ms"] = round(median(values), 2)
                    row[f"{name} p95 ms"] = round(percentile(values, 0.95), 2)
                    if name != "bare":
                        row[f"{name} / bare"] = round(median(values) / median(times["bare"]), 2)
                rows.append(row)
    return rows


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        print(f"\n{row['memories']:,} memories, the {row['tenant']} tenant: recall@10 {row['recall@10']:.3f}")
        for name in ("bare", "search", "recall", "context"):
            ratio = f"{row[f'{name} / bare']:.2f}x of bare" if name != "bare" else ""
            print(f"  {name:8} p50 {row[f'{name} p50 ms']:7.2f} ms   p95 {row[f'{name} p95 ms']:7.2f} ms   {ratio}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.sizes.split(",")]
    directory = tempfile.mkdtemp(prefix="memory-retrieval-")
    try:
        with EmbeddedServer(directory) as server:
            rows = asyncio.run(measure(server.dsn, sizes, arguments.queries))
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    if arguments.json:
        print(json.dumps(rows, indent=2))
    else:
        print_table(rows)


if __name__ == "__main__":
    main()
