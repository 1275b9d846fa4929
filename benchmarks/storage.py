"""Storing in bulk beside storing one by one: rows per second, both measured in turns on one embedded server.

    uv run python benchmarks/storage.py [--rows 10000] [--single 500] [--rounds 5] [--json]

The embedder is a fake that takes no time, so that only the storage layer is measured; fsync is on, as users run it.
"""

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

import asyncpg
from memory_core import NewEpisode, NewFact, migrate, store_episode, store_episodes, store_fact, store_facts
from memory_core.embedded import EmbeddedServer
from memory_core.testing import WordHashEmbedder


class OneVector(WordHashEmbedder):
    """Answers every text with the same vector at once."""

    def __init__(self):
        super().__init__(model="benchmark")
        self.vector = self.embed("anything")

    def embed_batch(self, texts):
        return [self.vector] * len(texts)


async def rate(rows, work):
    started = perf_counter()
    await work
    return rows / (perf_counter() - started)


async def store_episodes_singly(pool, embedder, rows):
    for number in range(rows):
        await store_episode(pool, f"episode {number}: the user asked for tea at five", "jeeves", embedder)


async def store_facts_singly(pool, embedder, round_number, rows):
    for number in range(rows):
        await store_fact(pool, "user", f"single {round_number} {number}", "tea at five", embedder)


async def measure(dsn, rows, single, rounds):
    embedder = OneVector()
    async with asyncpg.create_pool(dsn, min_size=1, max_size=2) as pool:
        await migrate(pool)
        rates = {"episodes bulk": [], "episodes single": [], "facts bulk": [], "facts single": []}
        for turn in range(rounds):
            episodes = [NewEpisode(f"episode {n}: the user asked for tea at five", "jeeves") for n in range(rows)]
            facts = [NewFact("user", f"bulk {turn} {n}", "tea at five") for n in range(rows)]
            rates["episodes bulk"].append(await rate(rows, store_episodes(pool, episodes, embedder)))
            rates["episodes single"].append(await rate(single, store_episodes_singly(pool, embedder, single)))
            rates["facts bulk"].append(await rate(rows, store_facts(pool, facts, embedder)))
            rates["facts single"].append(await rate(single, store_facts_singly(pool, embedder, turn, single)))
    return {name: median(values) for name, values in rates.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000, help="rows in one bulk call")
    parser.add_argument("--single", type=int, default=500, help="rows stored one by one in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with EmbeddedServer(Path(tempfile.mkdtemp(prefix="memory-benchmark-"))) as server:
        rates = asyncio.run(measure(server.dsn, options.rows, options.single, options.rounds))
    rates["episodes ratio"] = rates["episodes bulk"] / rates["episodes single"]
    rates["facts ratio"] = rates["facts bulk"] / rates["facts single"]
    if options.json:
        print(json.dumps({name: round(value, 1) for name, value in rates.items()}, indent=2))
        return
    print(f"{'':10}{'bulk rows/s':>14}{'single rows/s':>16}{'ratio':>8}")
    for kind in ("episodes", "facts"):
        print(
            f"{kind:10}{rates[f'{kind} bulk']:>14,.0f}{rates[f'{kind} single']:>16,.0f}{rates[f'{kind} ratio']:>8.1f}"
        )


if __name__ == "__main__":
    main()
