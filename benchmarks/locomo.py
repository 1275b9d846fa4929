"""Retrieval without any language model on LoCoMo: does a search bring up the turns that answer a question?

    uv run python benchmarks/locomo.py --data FILE [--json]

Every turn of a conversation becomes one episode ("Speaker: text", its date, its session), every question one search
for 20 memories, through the public API on an embedded server in a temporary directory. Four systems are compared:

- literal: the specification's hybrid to the letter: turns stored without their session, all words of a question
  required, lists of 20, the question embedded as it is;
- dense and keyword: `search` in its two single modes;
- default: `search` as it is.

The data is not part of this repository. Its format: {"conversations": [{"id", "memories": [{"id", "session",
"date_iso", "speaker", "text"}], "questions": [{"id", "q", "category", "evidence": [memory ids]}]}]}.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from memory_core import (
    Memory,
    MemoryModuleConfig,
    NewEpisode,
    keyword_search,
    search,
    semantic_search,
    store_episodes,
)

LIMIT = 20
KEPT_DAYS = 36_500
SYSTEMS = ("literal", "dense", "keyword", "default")
METRICS = ("R@5", "R@10", "R@20", "MRR", "nDCG@10", "all@10")

Search = Callable[[str], Awaitable[list[dict[str, Any]]]]


def episodes_of(conversation: Mapping[str, Any], *, in_sessions: bool) -> list[NewEpisode]:
    return [
        NewEpisode(
            f"{turn['speaker']}: {turn['text']}",
            butler="locomo",
            session_id=uuid5(NAMESPACE_URL, f"{conversation['id']}/{turn['session']}") if in_sessions else None,
            ttl_days=KEPT_DAYS,
            created_at=datetime.fromisoformat(turn["date_iso"]).replace(tzinfo=UTC),
        )
        for turn in conversation["memories"]
    ]


async def store(memory: Memory, conversation: Mapping[str, Any], *, in_sessions: bool) -> dict[UUID, str]:
    """Store a conversation for the runtime's tenant and return the turn of each stored memory."""
    episodes = episodes_of(conversation, in_sessions=in_sessions)
    ids = await store_episodes(memory.pool, episodes, memory.embedder, tenant_id=memory.tenant_id)
    return {id_: turn["id"] for id_, turn in zip(ids, conversation["memories"], strict=True)}


def literal_search(memory: Memory) -> Search:
    """The specification's hybrid search, written out."""

    async def answer(question: str) -> list[dict[str, Any]]:
        vector = await asyncio.to_thread(memory.embedder.embed, question)
        options: dict[str, Any] = {"limit": LIMIT, "tenant_id": memory.tenant_id}
        semantic = await semantic_search(memory.pool, vector, "episodes", **options)
        keyword = await keyword_search(memory.pool, question, "episodes", **options)
        found = {result["id"]: result for result in (*semantic, *keyword)}
        ranks = [{r["id"]: rank for rank, r in enumerate(leg, start=1)} for leg in (semantic, keyword)]

        def best_first(id_: UUID) -> tuple[float, int]:
            places = [leg.get(id_, LIMIT + 1) for leg in ranks]
            return (-sum(1 / (60 + place) for place in places), places[0])

        return [found[id_] for id_ in sorted(found, key=best_first)[:LIMIT]]

    return answer


def built_in_search(memory: Memory, mode: str) -> Search:
    async def answer(question: str) -> list[dict[str, Any]]:
        return await search(
            memory.pool,
            question,
            memory.embedder,
            types=["episode"],
            mode=mode,
            limit=LIMIT,
            tenant_id=memory.tenant_id,
        )

    return answer


def question_metrics(ranked: Sequence[str], evidence: set[str]) -> dict[str, float]:
    hits = [turn in evidence for turn in ranked]
    gain = sum(1 / math.log2(place + 1) for place, hit in enumerate(hits[:10], start=1) if hit)
    best = sum(1 / math.log2(place + 1) for place in range(1, min(len(evidence), 10) + 1))
    recall = {f"R@{k}": sum(hits[:k]) / len(evidence) for k in (5, 10, 20)}
    return {
        **recall,
        "MRR": next((1 / place for place, hit in enumerate(hits, start=1) if hit), 0.0),
        "nDCG@10": gain / best,
        "all@10": float(sum(hits[:10]) == len(evidence)),
    }


async def measure(memory: Memory, conversation: Mapping[str, Any], results: dict[str, list[dict[str, Any]]]) -> None:
    """Ask every question of a conversation to every system, one after the other."""
    plain, whole = memory.for_tenant(f"{conversation['id']}-plain"), memory.for_tenant(str(conversation["id"]))
    turns = await store(plain, conversation, in_sessions=False) | await store(whole, conversation, in_sessions=True)
    systems = {
        "literal": literal_search(plain),
        "dense": built_in_search(whole, "semantic"),
        "keyword": built_in_search(whole, "keyword"),
        "default": built_in_search(whole, "hybrid"),
    }
    for question in conversation["questions"]:
        evidence = set(question["evidence"])
        for name, answer in systems.items() if evidence else ():
            started = time.perf_counter()
            found = await answer(question["q"])
            elapsed = (time.perf_counter() - started) * 1000
            ranked = [turns[memory["id"]] for memory in found]
            metrics = question_metrics(ranked, evidence)
            results[name].append({**metrics, "category": str(question["category"]), "ms": elapsed})


def groups_of(rows: Sequence[Mapping[str, Any]], data: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    adversarial = {str(category) for category in data.get("adversarial_categories", [5])}
    names = data.get("category_names", {})
    groups = {"core": [row for row in rows if row["category"] not in adversarial], "all": list(rows)}
    for category in sorted({row["category"] for row in rows}):
        groups[names.get(category, category)] = [row for row in rows if row["category"] == category]
    return groups


def summarise(rows: Sequence[Mapping[str, Any]], data: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    return {
        group: {metric: round(statistics.fmean(row[metric] for row in members), 4) for metric in METRICS}
        for group, members in groups_of(rows, data).items()
        if members
    }


def print_table(results: Mapping[str, Sequence[Mapping[str, Any]]], data: Mapping[str, Any]) -> None:
    for name, rows in results.items():
        times = sorted(row["ms"] for row in rows)
        p50, p95 = statistics.median(times), times[math.ceil(0.95 * len(times)) - 1]
        print(f"\n{name}: {len(rows)} questions, latency p50 {p50:.1f} ms, p95 {p95:.1f} ms (embedding included)")
        print(f"{'':14}" + "".join(f"{metric:>9}" for metric in METRICS))
        for group, metrics in summarise(rows, data).items():
            print(f"{group:14}" + "".join(f"{metrics[metric]:9.3f}" for metric in METRICS))


async def run(data: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in SYSTEMS}
    directory = tempfile.mkdtemp(prefix="memory-locomo-")
    try:
        async with Memory.open(data_dir=directory, config=MemoryModuleConfig()) as memory:
            for conversation in data["conversations"]:
                await measure(memory, conversation, results)
                print(f"conversation {conversation['id']} done", file=sys.stderr)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="the LoCoMo file")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    arguments = parser.parse_args()
    with open(arguments.data, encoding="utf-8") as file:
        data = json.load(file)
    results = asyncio.run(run(data))
    if arguments.json:
        print(json.dumps({name: summarise(rows, data) for name, rows in results.items()}, indent=2))
    else:
        print_table(results, data)


if __name__ == "__main__":
    main()
