"""One embedder in a process of its own, told by JSON lines what to time; `embedding.py` starts it.

Runs under any interpreter that has the backend's library, so it imports nothing of the workspace before it must.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

CALLERS = 32

Embed = Callable[[list[str]], Any]


def open_backend(backend: str, model_directory: str, threads: int) -> Embed:
    if backend == "sentence-transformers":
        return open_sentence_transformers(model_directory, threads)
    from memory_embed import EmbeddingEngine, OnnxEmbedder

    # As the product uses it, thread hand-over included; the memory of repeated questions is off.
    engine = EmbeddingEngine(
        OnnxEmbedder(precision="int8" if backend == "onnx-int8" else "fp32", threads=threads), cache_size=0
    )
    return engine.embed_batch


def open_sentence_transformers(model_directory: str, threads: int) -> Embed:
    import torch  # type: ignore[import-not-found]
    from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found]

    torch.set_num_threads(threads)
    model = SentenceTransformer(model_directory, device="cpu")
    return lambda texts: model.encode(texts, normalize_embeddings=True, show_progress_bar=False)


def timed(action: Callable[[], Any]) -> tuple[float, float]:
    """Return elapsed seconds and the processor's; on a busy machine only the second compares backends fairly."""
    started, processor_started = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - started, time.process_time() - processor_started


def gemm_flops(threads: int) -> float:
    """The machine's matrix product: the best of onnxruntime's and numpy's, in operations per second."""
    import numpy as np
    from memory_embed.graph_builder import GraphBuilder
    from memory_embed.minilm_session import open_session
    from memory_embed.onnx_proto import value_info

    rows, width = 512, 1536
    left, right = np.random.default_rng(0).standard_normal((2, width, width), dtype=np.float32)
    graph = GraphBuilder()
    graph.rename(graph.op("Gemm", "x", graph.weight("w", right)), "y")
    ports = [value_info(name, left.dtype, [rows, width]) for name in "xy"]
    session = open_session(graph.serialize("gemm", ports[:1], ports[1:]), graph.weights, threads=threads)
    inputs = {"x": left[:rows]}
    fastest = min(timed(lambda: session.run(None, inputs))[0] for _ in range(15))
    if threads == 1:
        fastest = min(fastest, *(timed(lambda: left[:rows] @ right)[0] for _ in range(15)))
    return 2 * rows * width * width / fastest


def token_counts(model_directory: str, texts: list[str]) -> list[int]:
    from pathlib import Path

    from memory_embed.token_runs import TextTokenizer

    tokenizer = TextTokenizer(Path(model_directory) / "tokenizer.json")
    return [len(tokenizer.encode(text)) for text in texts]


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(backend: str, model_directory: str, threads: str) -> None:
    embed = open_backend(backend, model_directory, int(threads))
    embed(["first vector"])
    print(json.dumps({"peak_bytes": peak_bytes(), "cpu_seconds": time.process_time()}), flush=True)
    crowd = ThreadPoolExecutor(CALLERS)
    actions: dict[str, Callable[[list[str]], Any]] = {
        "each": lambda texts: [timed(lambda text=text: embed([text])) for text in texts],  # type: ignore[misc]
        "crowd": lambda texts: timed(lambda: list(crowd.map(lambda text: embed([text]), texts))),
        "batch": lambda texts: timed(lambda: embed(texts)),
        "tokens": lambda texts: token_counts(model_directory, texts),
        "peak": lambda _: peak_bytes(),
        "gemm": lambda _: gemm_flops(int(threads)),
    }
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(actions[request["do"]](request.get("texts", []))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
