"""What it costs to resolve a name, to create an entity and to merge two, as a tenant's registry grows.

    uv run python benchmarks/entities.py [--sizes 1000,10000,100000] [--rounds 100] [--json]

Each size is a tenant of one database, so the small ones also show what a large neighbour costs them. Each round does
one of everything at every size, in turn, so that a busy machine slows all of them alike, with names drawn anew.
"plain LIKE" is the tiers one to three as a program would write them without our indexes, for the same names as "part".
"""

import argparse
import asyncio
import json
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
from memory_core import migrate
from memory_core.embedded import EmbeddedServer
from memory_entities import entity_create, entity_merge, entity_resolve

SYLLABLES = [
    *("ka", "lo", "mi", "ter", "son", "berg", "van", "der", "li", "wang", "chen", "mar", "ia", "jo", "hn", "sm"),
    *("ith", "ros", "en", "do", "bel", "fra", "nk", "pe", "sto", "ne", "al", "ex", "an", "dra"),
]
FACTS_PER_ENTITY = 3
PLAIN_LIKE = """
    SELECT id, canonical_name
    FROM entities
    WHERE tenant_id = $1
        AND metadata ->> 'merged_into' IS NULL
        AND (
            lower(canonical_name) LIKE '%' || lower($2) || '%'
            OR EXISTS (SELECT FROM unnest(aliases) AS alias WHERE lower(alias) LIKE '%' || lower($2) || '%')
        )
    ORDER BY length(canonical_name), canonical_name
    LIMIT 200
"""


@dataclass
class Registry:
    """The entities of one tenant, and what was measured on them."""

    tenant: str
    size: int
    names: list[str]
    aliases: list[str]
    seconds: dict[str, list[float]] = field(default_factory=dict)


def person_names(size: int, chance: random.Random) -> list[str]:
    """Return distinct names of which some first names are far more common than others, as in life."""
    first = ["".join(chance.choices(SYLLABLES, k=2)).title() for _ in range(400)]
    last = ["".join(chance.choices(SYLLABLES, k=3)).title() for _ in range(8_000)]
    weights = [1 / (rank + 5) for rank in range(len(first))]
    names: dict[str, None] = {}
    while len(names) < size:
        names[f"{chance.choices(first, weights)[0]} {chance.choice(last)}"] = None
    return list(names)


async def fill(pool: "asyncpg.Pool[asyncpg.Record]", size: int) -> Registry:
    chance = random.Random(size)
    names = person_names(size, chance)
    aliases = ["".join(chance.choices(SYLLABLES, k=2)) + str(number) for number in range(size)]
    registry = Registry(f"tenant-{size}", size, names, aliases)
    await pool.copy_records_to_table(
        "entities",
        records=[(registry.tenant, name, "person", [alias]) for name, alias in zip(names, aliases, strict=True)],
        columns=["tenant_id", "canonical_name", "entity_type", "aliases"],
    )
    await pool.execute(
        "INSERT INTO facts (tenant_id, subject, predicate, content, entity_id)"
        " SELECT tenant_id, canonical_name, 'p' || n, 'knows ' || md5(id::text || n), id"
        " FROM entities, generate_series(1, $2) AS n WHERE tenant_id = $1",
        registry.tenant,
        FACTS_PER_ENTITY,
    )
    return registry


def misspelt(name: str, chance: random.Random) -> str:
    """Return a name without one of its letters."""
    place = chance.randrange(1, len(name) - 1)
    return name[:place] + name[place + 1 :]


def measures(
    pool: "asyncpg.Pool[asyncpg.Record]", registry: Registry, chance: random.Random
) -> dict[str, Callable[[], Awaitable[Any]]]:
    """Return one call of each kind, with names drawn for this round."""
    tenant = registry.tenant
    name, alias = chance.choice(registry.names), chance.choice(registry.aliases)
    part, first = chance.choice(registry.names).split()[1][:6], chance.choice(registry.names).split()[0]
    hints = {"topic": "knows d41d8cd98f", "mentioned_with": ["Alice"]}
    new = f"{name} {chance.random()}"

    def resolve(asked: str, **options: Any) -> Callable[[], Awaitable[Any]]:
        return lambda: entity_resolve(pool, asked, tenant_id=tenant, **options)

    return {
        "whole name": resolve(name),
        "alias": resolve(alias),
        "part": resolve(part),
        "plain LIKE": lambda: pool.fetch(PLAIN_LIKE, tenant, part),
        "first name": resolve(first),
        "two letters": resolve(part[:2]),
        "unknown": resolve("Zyx Qwv"),
        "fuzzy": resolve(misspelt(name, chance), enable_fuzzy=True),
        "hints": resolve(first, context_hints=hints),
        "create": lambda: entity_create(pool, new, "person", tenant_id=tenant),
        "merge": lambda: _merge_two(pool, registry),
    }


async def _merge_two(pool: "asyncpg.Pool[asyncpg.Record]", registry: Registry) -> None:
    rows = await pool.fetch(
        "SELECT id FROM entities WHERE tenant_id = $1 AND metadata ->> 'merged_into' IS NULL LIMIT 2", registry.tenant
    )
    source, target = (UUID(int=row["id"].int) for row in rows)
    await entity_merge(pool, source, target, tenant_id=registry.tenant)


async def run(dsn: str, sizes: list[int], rounds: int) -> list[Registry]:
    pool = await asyncpg.create_pool(dsn, min_size=2, max_size=2)
    await migrate(pool)
    registries = [await fill(pool, size) for size in sizes]
    await pool.execute("VACUUM ANALYZE entities")
    await pool.execute("VACUUM ANALYZE facts")
    chance = random.Random(7)
    for number in range(rounds):
        for registry in registries:
            for measure, call in measures(pool, registry, chance).items():
                began = time.perf_counter()
                await call()
                registry.seconds.setdefault(measure, []).append(time.perf_counter() - began)
        if number % 10 == 0:
            print(f"\r{number}/{rounds} rounds", end="", file=sys.stderr)
    print(file=sys.stderr)
    await pool.close()
    return registries


def summary(registries: list[Registry]) -> list[dict[str, Any]]:
    """Return p50 and p95 of every measure at every size, in milliseconds."""
    return [
        {
            "measure": measure,
            "entities": registry.size,
            "p50_ms": round(statistics.median(seconds) * 1_000, 2),
            "p95_ms": round(statistics.quantiles(seconds, n=20)[-1] * 1_000, 2),
        }
        for measure in registries[0].seconds
        for registry in registries
        for seconds in [registry.seconds[measure]]
    ]


def table(rows: list[dict[str, Any]], sizes: list[int]) -> str:
    cells = {(row["measure"], row["entities"]): f"{row['p50_ms']:.2f} / {row['p95_ms']:.2f}" for row in rows}
    lines = [
        "| p50 / p95 in ms | " + " | ".join(f"{size:,} entities" for size in sizes) + " |",
        "|---|" + "---|" * len(sizes),
    ]
    names = dict.fromkeys(row["measure"] for row in rows)
    lines += [f"| {name} | " + " | ".join(cells[name, size] for size in sizes) + " |" for name in names]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    data_dir = Path(tempfile.mkdtemp(prefix="memory-benchmark-"))
    with EmbeddedServer(data_dir) as server:
        rows = summary(asyncio.run(run(server.dsn, sizes, options.rounds)))
    shutil.rmtree(data_dir, ignore_errors=True)
    print(json.dumps(rows, indent=2) if options.json else table(rows, sizes))


if __name__ == "__main__":
    main()
