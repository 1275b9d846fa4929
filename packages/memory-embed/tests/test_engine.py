"""The engine's promises to concurrent callers, on an embedder that the tests can hold."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from memory_core.embedding import SubmittingEmbedder, embed_texts
from memory_core.errors import ConfigError
from memory_embed import EmbeddingEngine, EmbeddingError, EngineClosedError, QueueFullError, WeightsError
from memory_embed.vector_cache import MAX_CHARACTERS

WAIT = 30


class GatedEmbedder:
    """An embedder whose passes a test can hold and look at; its vectors carry the length of the text."""

    model, version, dimensions = "gated", "1", 2

    def __init__(self, *, is_open: bool = True, failing: str = "", load_errors: Sequence[Exception] = ()) -> None:
        self.passes: list[list[str | None]] = []
        self.loaded_in: list[str] = []
        self.entered = threading.Semaphore(0)
        self._gate = threading.Event()
        self._failing = failing
        self._load_errors = list(load_errors)
        if is_open:
            self._gate.set()

    def open(self) -> None:
        self._gate.set()

    def load(self) -> None:
        self.loaded_in.append(threading.current_thread().name)
        if self._load_errors:
            raise self._load_errors.pop(0)

    def embed(self, text: str | None) -> list[float]:
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str | None]) -> list[list[float]]:
        self.passes.append(list(texts))
        self.entered.release()
        assert self._gate.wait(WAIT), "the test never opened the gate"
        if self._failing and self._failing in texts:
            raise ValueError(f"cannot embed {self._failing!r}")
        return [[float(len(text or "")), 1.0] for text in texts]


@pytest.fixture
def open_engine() -> Iterator[Callable[..., EmbeddingEngine]]:
    opened: list[tuple[EmbeddingEngine, GatedEmbedder]] = []

    def build(embedder: GatedEmbedder, **options: Any) -> EmbeddingEngine:
        opened.append((EmbeddingEngine(embedder, **options), embedder))
        return opened[-1][0]

    yield build
    for engine, embedder in opened:
        embedder.open()
        engine.close()


def hold_a_pass(engine: EmbeddingEngine, embedder: GatedEmbedder) -> "Future[list[list[float]]]":
    first = engine.submit(["first"])
    assert embedder.entered.acquire(timeout=WAIT)
    return first


def test_one_caller_alone_is_served_at_once(open_engine: Callable[..., EmbeddingEngine]) -> None:
    embedder = GatedEmbedder()
    assert open_engine(embedder).embed("abc") == [3.0, 1.0]
    assert embedder.passes == [["abc"]]


def test_what_arrives_during_a_pass_goes_together_in_the_next(open_engine: Callable[..., EmbeddingEngine]) -> None:
    embedder = GatedEmbedder(is_open=False)
    engine = open_engine(embedder)
    hold_a_pass(engine, embedder)
    waiting = [engine.submit([f"question {number}"]) for number in range(50)]
    embedder.open()
    assert [future.result(WAIT)[0] for future in waiting] == [[float(len(f"question {n}")), 1.0] for n in range(50)]
    assert [len(texts) for texts in embedder.passes] == [1, 50]


def test_a_question_does_not_wait_behind_a_bulk_load(open_engine: Callable[..., EmbeddingEngine]) -> None:
    embedder = GatedEmbedder(is_open=False)
    engine = open_engine(embedder)
    hold_a_pass(engine, embedder)
    bulk = engine.submit([f"memory {number} " * 20 for number in range(400)])
    question = engine.submit(["question"])
    embedder.open()
    assert len(bulk.result(WAIT)) == 400
    assert question.result(WAIT) == [[8.0, 1.0]]
    assert "question" in embedder.passes[1]
    assert len(embedder.passes) > 3


def test_a_bulk_load_keeps_its_order(open_engine: Callable[..., EmbeddingEngine]) -> None:
    texts = ["x" * (1 + number * 7 % 1000) for number in range(300)]
    vectors = open_engine(GatedEmbedder()).embed_batch(texts)
    assert [vector[0] for vector in vectors] == [float(len(text)) for text in texts]


def test_a_crowd_larger_than_a_pass_is_served_in_order_of_arrival(open_engine: Callable[..., EmbeddingEngine]) -> None:
    embedder = GatedEmbedder(is_open=False)
    engine = open_engine(embedder)
    hold_a_pass(engine, embedder)
    waiting = [engine.submit([f"{number:04d}" + "x" * 996]) for number in range(30)]
    embedder.open()
    for future in waiting:
        future.result(WAIT)
    served = [text for texts in embedder.passes[1:] for text in texts]
    assert served == sorted(served)
    assert max(len(texts) for texts in embedder.passes) < 30


def test_more_bulk_loads_than_a_pass_can_hold_take_turns(open_engine: Callable[..., EmbeddingEngine]) -> None:
    embedder = GatedEmbedder(is_open=False)
    engine = open_engine(embedder)
    hold_a_pass(engine, embedder)
    loads = [engine.submit([f"{load} {turn} ".ljust(1100, "x") for turn in range(2)]) for load in range(20)]
    embedder.open()
    for load in loads:
        load.result(WAIT)
    turns = [str(text).split()[1] for texts in embedder.passes[1:] for text in texts]
    assert turns == ["0"] * 20 + ["1"] * 20


def test_a_missing_or_empty_text_reaches_every_backend_as_one_space(
    open_engine: Callable[..., EmbeddingEngine],
) -> None:
    embedder = GatedEmbedder()
    open_engine(embedder).embed_batch([None, ""])
    assert embedder.passes == [[" ", " "]]


def test_a_repeated_question_is_answered_from_memory(open_engine: Callable[..., EmbeddingEngine]) -> None:
    embedder = GatedEmbedder()
    engine = open_engine(embedder)
    engine.embed("again").clear()  # what a caller does to its list must not reach the next one
    assert engine.embed("again") == [5.0, 1.0]
    assert engine.submit(["again"]).done()
    assert embedder.passes == [["again"]]


def test_the_question_not_asked_for_longest_is_forgotten(open_engine: Callable[..., EmbeddingEngine]) -> None:
    embedder = GatedEmbedder()
    engine = open_engine(embedder, cache_size=2)
    for text in ["a", "b", "a", "c", "a", "b"]:
        engine.embed(text)
    assert embedder.passes == [["a"], ["b"], ["c"], ["b"]]


def test_long_texts_are_not_kept_for_a_second_question(open_engine: Callable[..., EmbeddingEngine]) -> None:
    embedder = GatedEmbedder()
    engine = open_engine(embedder)
    question, episode = "x" * MAX_CHARACTERS, "x" * (MAX_CHARACTERS + 1)
    for text in (question, question, episode, episode):
        engine.embed(text)
    assert embedder.passes == [[question], [episode], [episode]]


def test_a_full_queue_refuses_at_once_and_names_the_limit(open_engine: Callable[..., EmbeddingEngine]) -> None:
    embedder = GatedEmbedder(is_open=False)
    engine = open_engine(embedder, max_waiting=3)
    hold_a_pass(engine, embedder)
    engine.submit(["a", "b", "c", "d"])
    with pytest.raises(QueueFullError, match=r"4 texts wait .* at most 3 may"):
        engine.submit(["e"])


def test_a_blocking_call_waits_for_room_instead(open_engine: Callable[..., EmbeddingEngine]) -> None:
    embedder = GatedEmbedder(is_open=False)
    engine = open_engine(embedder, max_waiting=1)
    hold_a_pass(engine, embedder)
    engine.submit(["a"])
    with ThreadPoolExecutor(1) as threads:
        blocked = threads.submit(engine.embed, "blocked")
        embedder.open()
        assert blocked.result(WAIT) == [7.0, 1.0]


def test_a_failing_text_fails_only_its_own_call(open_engine: Callable[..., EmbeddingEngine]) -> None:
    embedder = GatedEmbedder(is_open=False, failing="bad")
    engine = open_engine(embedder)
    hold_a_pass(engine, embedder)
    good, bad, other = (engine.submit([text]) for text in ["good", "bad", "other"])
    embedder.open()
    assert good.result(WAIT) == [[4.0, 1.0]]
    assert other.result(WAIT) == [[5.0, 1.0]]
    with pytest.raises(ValueError, match="cannot embed 'bad'"):
        bad.result(WAIT)


def test_a_model_that_cannot_be_loaded_is_tried_again_by_the_next_call(
    open_engine: Callable[..., EmbeddingEngine],
) -> None:
    embedder = GatedEmbedder(load_errors=[WeightsError("no file")])
    engine = open_engine(embedder)
    with pytest.raises(WeightsError, match="no file"):
        engine.embed("too early")
    assert engine.embed("later") == [5.0, 1.0]


def test_the_model_is_loaded_by_the_worker_when_asked_to(open_engine: Callable[..., EmbeddingEngine]) -> None:
    embedder = GatedEmbedder()
    engine = open_engine(embedder)
    assert embedder.loaded_in == []
    engine.preload().result(WAIT)
    assert embedder.loaded_in == ["memory-embed"]


def test_cancelled_texts_are_not_embedded(open_engine: Callable[..., EmbeddingEngine]) -> None:
    embedder = GatedEmbedder(is_open=False)
    engine = open_engine(embedder)
    hold_a_pass(engine, embedder)
    cancelled, kept = engine.submit(["cancelled"]), engine.submit(["kept"])
    assert cancelled.cancel()
    embedder.open()
    kept.result(WAIT)
    assert embedder.passes == [["first"], ["kept"]]


def test_closing_lets_the_running_pass_finish_and_fails_what_waits(
    open_engine: Callable[..., EmbeddingEngine],
) -> None:
    embedder = GatedEmbedder(is_open=False)
    engine = open_engine(embedder)
    running = hold_a_pass(engine, embedder)
    waiting = engine.submit(["waiting"])
    closing = threading.Thread(target=engine.close)
    closing.start()
    with pytest.raises(EngineClosedError, match="while this text waited"):
        waiting.result(WAIT)
    embedder.open()
    assert running.result(WAIT) == [[5.0, 1.0]]
    closing.join(WAIT)
    with pytest.raises(EngineClosedError, match="is closed"):
        engine.submit(["after"])


def test_closing_a_half_done_bulk_load_fails_it(open_engine: Callable[..., EmbeddingEngine]) -> None:
    embedder = GatedEmbedder(is_open=False)
    engine = open_engine(embedder)
    bulk = engine.submit(["x" * 1000] * 50)
    assert embedder.entered.acquire(timeout=WAIT)
    closing = threading.Thread(target=engine.close)
    closing.start()
    with pytest.raises(EngineClosedError):
        bulk.result(WAIT)
    embedder.open()
    closing.join(WAIT)


async def test_async_callers_wait_without_a_thread_and_share_passes(
    open_engine: Callable[..., EmbeddingEngine],
) -> None:
    embedder = GatedEmbedder(is_open=False)
    engine = open_engine(embedder)
    assert isinstance(engine, SubmittingEmbedder)
    hold_a_pass(engine, embedder)
    callers = [asyncio.ensure_future(embed_texts(engine, [f"caller {number}"])) for number in range(20)]
    await asyncio.sleep(0)
    embedder.open()
    assert await asyncio.gather(*callers) == [[[float(len(f"caller {number}")), 1.0]] for number in range(20)]
    assert len(embedder.passes) == 2


def test_a_backend_that_forgets_a_vector_is_an_error_not_a_hang(open_engine: Callable[..., EmbeddingEngine]) -> None:
    class Forgetful(GatedEmbedder):
        def embed_batch(self, texts: Sequence[str | None]) -> list[list[float]]:
            return super().embed_batch(texts)[1:]

    with pytest.raises(EmbeddingError, match="returned 0 vectors for 1 texts"):
        open_engine(Forgetful()).embed("lost")


@pytest.mark.parametrize(("option", "value"), [("max_waiting", 0), ("cache_size", -1), ("max_waiting", "many")])
def test_options_out_of_range_are_refused_by_name(option: str, value: object) -> None:
    with pytest.raises(ConfigError, match=f"{option} {value!r}"):
        EmbeddingEngine(GatedEmbedder(), **{option: value})
