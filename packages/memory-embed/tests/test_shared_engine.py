"""The process's shared engine: one, lazy, and no obstacle to forks and exits."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from memory_embed import EmbeddingEngine, engine, get_embedding_engine


@pytest.fixture(autouse=True)
def no_shared_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(engine, "_shared", None)
    yield
    if engine._shared is not None:
        engine._shared.close()


@pytest.mark.scenario("Lazy singleton initialization")
def test_the_first_call_creates_the_engine_and_later_calls_return_it() -> None:
    threads_before = threading.active_count()
    first = get_embedding_engine()
    assert isinstance(first, EmbeddingEngine)
    assert get_embedding_engine() is first
    assert engine._shared is first
    assert threading.active_count() == threads_before, "nothing runs before the first text"


def test_threads_racing_for_the_first_call_get_one_engine() -> None:
    barrier = threading.Barrier(8)

    def race(_: int) -> EmbeddingEngine:
        barrier.wait(30)
        return get_embedding_engine()

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(race, range(8)))) == 1


def test_a_closed_engine_is_replaced() -> None:
    first = get_embedding_engine()
    first.close()
    assert get_embedding_engine() is not first


def run_python(code: str) -> str:
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


def test_importing_the_package_loads_neither_numpy_nor_onnxruntime() -> None:
    heavy = run_python(
        "import sys, memory_embed.plugin, memory_embed\n"
        "print(sorted({'numpy', 'onnxruntime', 'tokenizers', 'huggingface_hub', 'torch'} & set(sys.modules)))"
    )
    assert heavy == "[]"


def test_the_interpreter_exits_with_work_still_queued() -> None:
    code = (
        "from memory_embed import get_embedding_engine\n"
        "engine = get_embedding_engine()\n"
        "engine.embed('ready')\n"
        "engine.submit(['some longer text to keep it busy ' * 30] * 5000)\n"
        "print('leaving')"
    )
    assert run_python(code) == "leaving"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_forked_child_embeds_with_an_engine_of_its_own() -> None:
    code = (
        "import os, sys\n"
        "from memory_embed import EmbeddingEngine, OnnxEmbedder\n"
        "engine = EmbeddingEngine(OnnxEmbedder(threads=2))\n"
        "before = engine.embed('the same text')\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os._exit(0 if engine.embed('the same text') == before else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert engine.embed('the parent goes on')\n"
        "print('both')"
    )
    assert run_python(code) == "both"
