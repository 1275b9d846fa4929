"""What eight bits cost: cosines against full precision, and dense recall on LoCoMo questions, without a database.

    uv run python benchmarks/embedding_accuracy.py --data locomo.json

The data (CC BY-NC 4.0) is not part of the project: {"conversations": [{"memories": [{"id", "text"}],
"questions": [{"q", "category", "evidence"}]}]}. Each question is asked of its own conversation; adversarial questions
(category 5) are left out, as is usual.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from memory_embed import OnnxEmbedder

TOP = 10
ADVERSARIAL = 5

Array = np.ndarray[Any, Any]


def embed(embedder: OnnxEmbedder, texts: list[str]) -> Array:
    return np.array(embedder.embed_batch(texts))


def core_questions(conversation: dict[str, Any]) -> list[dict[str, Any]]:
    return [q for q in conversation["questions"] if q["category"] != ADVERSARIAL and q["evidence"]]


def recalls(conversation: dict[str, Any], memories: Array, questions: Array) -> list[float]:
    """For each question, the share of its evidence among the nearest memories."""
    ids = [memory["id"] for memory in conversation["memories"]]
    nearest = np.argsort(-(questions @ memories.T), axis=1)[:, :TOP]
    found = []
    for question, positions in zip(core_questions(conversation), nearest, strict=True):
        evidence = set(question["evidence"])
        found.append(len(evidence & {ids[position] for position in positions}) / len(evidence))
    return found


def bootstrap_interval(differences: Array) -> tuple[float, float]:
    chance = np.random.default_rng(0)
    samples = chance.choice(differences, (10_000, len(differences))).mean(axis=1)
    low, high = np.quantile(samples, [0.025, 0.975])
    return float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    conversations = json.loads(parser.parse_args().data.read_text())["conversations"]
    embedders = {name: OnnxEmbedder(precision=name, threads=2) for name in ("fp32", "int8")}
    scores: dict[str, list[float]] = {name: [] for name in embedders}
    cosines: list[float] = []
    for conversation in conversations:
        texts = [memory["text"] for memory in conversation["memories"]]
        asked = [question["q"] for question in core_questions(conversation)]
        vectors = {name: embed(embedder, texts + asked) for name, embedder in embedders.items()}
        cosines += (vectors["fp32"] * vectors["int8"]).sum(axis=1).tolist()
        for name, rows in vectors.items():
            scores[name] += recalls(conversation, rows[: len(texts)], rows[len(texts) :])
    print(f"{len(cosines)} texts: cosine int8 to fp32 min {min(cosines):.4f}, mean {np.mean(cosines):.4f}")
    for name, values in scores.items():
        print(f"recall@{TOP} {name}: {np.mean(values):.4f} over {len(values)} questions")
    differences = np.array(scores["int8"]) - np.array(scores["fp32"])
    low, high = bootstrap_interval(differences)
    print(f"int8 - fp32: {differences.mean():+.4f} (95% {low:+.4f} to {high:+.4f}, paired bootstrap)")


if __name__ == "__main__":
    main()
