"""What the core finds through the entry point, and what it is told about wrong options."""

import threading

import pytest
from memory_core.errors import ConfigError
from memory_core.plugins import Plugins
from memory_embed import EmbeddingEngine

HOOK = "memory_embedding_backends"


def test_both_backends_are_found_through_the_entry_point() -> None:
    plugins = Plugins.from_entry_points()
    assert {"onnx", "sentence-transformers"} <= set(plugins.providers(HOOK))


@pytest.mark.parametrize("backend", ["onnx", "sentence-transformers"])
def test_creating_a_backend_loads_nothing(backend: str) -> None:
    threads_before = threading.active_count()
    engine = Plugins.from_entry_points().create(HOOK, backend)
    assert isinstance(engine, EmbeddingEngine)
    assert (engine.model, engine.dimensions) == ("all-MiniLM-L6-v2", 384)
    assert threading.active_count() == threads_before


def test_both_backends_are_one_generation_so_switching_needs_no_re_embedding() -> None:
    plugins = Plugins.from_entry_points()
    assert plugins.create(HOOK, "onnx").version == plugins.create(HOOK, "sentence-transformers").version


def test_options_reach_the_backend_and_the_engine() -> None:
    options = {"onnx": {"precision": "int8", "cache_size": 0}}
    with Plugins.from_entry_points(options).create(HOOK, "onnx") as engine:
        assert engine.version.endswith("-int8")
        assert len(engine.embed("text")) == 384
        assert not engine.submit(["text"]).done()


@pytest.mark.parametrize(
    ("backend", "options", "message"),
    [
        ("onnx", {"presicion": "int8"}, "'onnx' has no option 'presicion'; its options are: .*precision"),
        ("onnx", {"precision": "int4"}, "precision 'int4' is not one of: fp32, int8"),
        ("onnx", {"threads": 0}, "threads 0 is not a whole number from 1 up"),
        ("onnx", {"threads": True}, "threads True is not a whole number"),
        ("onnx", {"download": "no"}, "download 'no' is neither true nor false; write it without quotes"),
        ("onnx", {"model_path": ""}, "model_path '' names no directory; give its path, or leave the option out"),
        ("onnx", {"cache_dir": 5}, "cache_dir 5 names no directory"),
        ("sentence-transformers", {"model_path": 5}, "model_path 5 names no directory"),
        ("onnx", {"max_waiting": 0}, "max_waiting 0 is not a whole number from 1 up"),
        ("sentence-transformers", {"precision": "int8"}, "'sentence-transformers' has no option 'precision'"),
        ("sentence-transformers", {"threads": -1}, "threads -1 is not a whole number"),
    ],
)
def test_a_wrong_option_is_refused_by_name(backend: str, options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Plugins.from_entry_points({backend: options}).create(HOOK, backend)
