"""What a save, a recall and a search of memory-agent cost as an agent's memory grows.

    uv run python benchmarks/agent.py [--sizes 1000,10000,100000] [--rounds 200] [--json]

Every time is a median. What is compared is measured side by side: each round does one of everything at every size,
so that a busy machine slows all of them alike. "bare FTS5" is the same match, order and limit, returning rowids alone.
"neighbours / exact" compares the likeness of the stored cross-references, which are found through a bounded number of
candidates, with that of the ten nearest of all; the texts are random words without topics, the worst case for it.
"""

import argparse
import itertools
import json
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import nlargest
from pathlib import Path
from string import ascii_lowercase

from memory_agent import MemoryManager, SearchOptions, fast_search, jaccard_similarity, open_database
from memory_agent.crossrefs import MAX_CROSS_REFS, MIN_JACCARD
from memory_agent.documents import agent_number
from memory_agent.fast import CANDIDATES_PER_RESULT, MIN_CANDIDATES
from memory_agent.matching import match_expression

AGENT = "benchmark-agent"
VOCABULARY = 20_000
BATCH = 1_000
BARE_FTS5 = "SELECT rowid FROM memory_search WHERE memory_search MATCH ? ORDER BY rank LIMIT ?"
MEASURES = ("save", "recall", "recall (cached)", "fast search", "bare FTS5")


@dataclass
class Subject:
    """One memory file of a given size, and what was measured on it."""

    size: int
    db: sqlite3.Connection
    manager: MemoryManager
    texts: Iterator[str]
    fill_seconds: float
    seconds: dict[str, list[float]] = field(default_factory=lambda: {measure: [] for measure in MEASURES})


def texts(seed: int) -> Iterator[str]:
    """Yield sentences whose words are as unevenly common as those of real text."""
    chance = random.Random(seed)
    words = ["".join(chance.choices(ascii_lowercase, k=chance.randint(3, 9))) for _ in range(VOCABULARY)]
    weights = list(itertools.accumulate(1 / (rank + 10) for rank in range(VOCABULARY)))
    while True:
        yield " ".join(chance.choices(words, cum_weights=weights, k=chance.randint(8, 30)))


def fill(directory: Path, size: int) -> Subject:
    """Save as many memories as asked, in batches so that filling is quick."""
    db = open_database(directory / f"{size}.db")
    manager, source = MemoryManager(db), texts(size)
    started = time.perf_counter()
    for first in range(0, size, BATCH):
        db.execute("BEGIN IMMEDIATE")
        for number in range(first, min(first + BATCH, size)):
            manager.save(AGENT, f"note:{number}", next(source))
        db.execute("COMMIT")
    return Subject(size, db, manager, source, time.perf_counter() - started)


def measure_round(subject: Subject, number: int, chance: random.Random) -> None:
    """Do one of everything on one file."""
    key = f"note:{chance.randrange(subject.size)}"
    timed(subject, "save", lambda: subject.manager.save(AGENT, f"new:{number}", next(subject.texts)))
    memory = timed(subject, "recall", lambda: subject.manager.recall(AGENT, key))
    timed(subject, "recall (cached)", lambda: subject.manager.recall(AGENT, key))
    measure_search(subject, " ".join(chance.sample(memory.content.split(), 2)), bare_first=number % 2 == 0)
    subject.manager.clear_cache()


def measure_search(subject: Subject, query: str, *, bare_first: bool) -> None:
    """Search for the same words both ways; who goes first alternates, for the second finds its pages warm."""
    expression = match_expression(agent_number(subject.db, AGENT), query)
    limit = max(CANDIDATES_PER_RESULT * SearchOptions().limit, MIN_CANDIDATES)
    ways: list[tuple[str, Callable[[], object]]] = [
        ("bare FTS5", lambda: subject.db.execute(BARE_FTS5, (expression, limit)).fetchall()),
        ("fast search", lambda: fast_search(subject.db, AGENT, query)),
    ]
    for measure, call in ways if bare_first else reversed(ways):
        timed(subject, measure, call)


def timed(subject: Subject, measure: str, call: Callable[[], object]):
    started = time.perf_counter()
    result = call()
    subject.seconds[measure].append(time.perf_counter() - started)
    return result


def neighbour_likeness(subject: Subject, samples: int = 20) -> float:
    """Return how much of the likeness of the ten truly nearest memories the stored cross-references have."""
    rows = subject.db.execute("SELECT document, memory_id, terms FROM memory_documents ORDER BY document").fetchall()
    documents = [(document, memory_id, set(json.loads(terms))) for document, memory_id, terms in rows]
    stored, exact = 0.0, 0.0
    for newest, memory_id, terms in documents[-samples:]:
        scores = [jaccard_similarity(terms, other) for document, _, other in documents if document < newest]
        exact += sum(score for score in nlargest(MAX_CROSS_REFS, scores) if score > MIN_JACCARD)
        found = subject.db.execute("SELECT score FROM memory_cross_refs WHERE source_id = ?", (memory_id,))
        stored += sum(score for (score,) in found)
    return stored / exact


def report(subjects: list[Subject]) -> list[dict[str, float]]:
    """Return the medians in milliseconds and the two ratios that have a target."""
    rows = []
    for subject in subjects:
        medians = {name: statistics.median(values) * 1000 for name, values in subject.seconds.items()}
        row = {"memories": subject.size, **{f"{name} ms": round(value, 4) for name, value in medians.items()}}
        row["search / bare"] = round(medians["fast search"] / medians["bare FTS5"], 2)
        row["neighbours / exact"] = round(neighbour_likeness(subject), 2)
        row["filled, saves/s"] = round(subject.size / subject.fill_seconds)
        rows.append(row)
    for row in rows:
        row["save / smallest"] = round(row["save ms"] / rows[0]["save ms"], 2)
    return rows


def print_table(rows: list[dict[str, float]]) -> None:
    print(f"{'':<20}" + "".join(f"{int(row['memories']):>12,}" for row in rows))
    for name in list(rows[0])[1:]:
        print(f"{name:<20}" + "".join(f"{row[name]:>12,}" for row in rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000", help="memories per file, separated by commas")
    parser.add_argument("--rounds", type=int, default=200, help="measurements per figure")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as directory:
        subjects = []
        for size in map(int, options.sizes.split(",")):
            print(f"filling {size:,} memories ...", file=sys.stderr)
            subjects.append(fill(Path(directory), size))
        for number in range(options.rounds):
            for subject in subjects:
                measure_round(subject, number, chance)
        rows = report(subjects)
        for subject in subjects:
            subject.manager.close()
    print(json.dumps(rows, indent=2)) if options.json else print_table(rows)


if __name__ == "__main__":
    main()
