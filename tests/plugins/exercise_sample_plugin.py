"""Uses every hook of the installed sample plugin, in a process of its own, and prints what came of it."""

import asyncio
import json
import sys

from memory_core import Memory
from memory_core.config_sources import parse_config
from memory_core.scoring import ScoreComponents, ScoreWeights

CONFIG = {
    "embedding_backend": "sample",
    "retrieval": {"scorer": "sample", "reranker": "sample"},
    "consolidation": {"spawner": "sample"},
    "tools": {"sets": ["core", "sample"]},
    "schedule": {"sample": "0 1 * * *"},
    "plugins": {"sample": {}},
}


async def exercise(dsn: str) -> dict[str, object]:
    async with Memory.open(dsn, config=parse_config(CONFIG)) as memory:

        def created(hook: str):
            return memory.plugins.create(hook, "sample")

        spawned = await created("memory_spawners").trigger(prompt="Good morning", trigger_source="test")
        score = created("memory_scorers").score(ScoreComponents(0.1, 8, 0.1, 0.1), ScoreWeights())
        reranked = await created("memory_rerankers").rerank("", [{"content": "longer"}, {"content": "short"}])
        await memory.call("sample_visit", place="Lisbon")
        visits = await memory.call("sample_visit", place="Lisbon")
        stored = await memory.call("memory_store_fact", subject="user", predicate="city", content="Lisbon")
        found = await memory.call("memory_get", memory_type="fact", memory_id=stored["id"])
        await memory.pool.execute("UPDATE sample_visits SET visited_at = now() - interval '31 days'")
        return {
            "memory_embedding_backends": [memory.embedder.model, found["memory"]["content"]],
            "memory_spawners": spawned.output,
            "memory_scorers": score,
            "memory_rerankers": [each["content"] for each in reranked],
            "memory_tools": visits,
            "memory_workers": dict(await created("memory_workers").run(memory)),
            "memory_migrations": await memory.pool.fetchval("SELECT version_num FROM sample_alembic_version"),
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(exercise(sys.argv[1]))))
