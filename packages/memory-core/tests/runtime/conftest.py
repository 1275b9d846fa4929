"""Plugins whose vectors need no model, so that a runtime opens in no time."""

import pytest
from memory_core import MemoryModuleConfig, Plugins, Provider, hookimpl
from memory_core.config_sources import parse_config
from memory_core.testing import WordHashEmbedder


class WordHashes:
    @staticmethod
    @hookimpl
    def memory_embedding_backends():
        return [Provider("word-hash", lambda options: WordHashEmbedder(**options))]


@pytest.fixture
def plugins() -> Plugins:
    installed = Plugins.from_entry_points()
    installed.register(WordHashes, "word-hashes")
    return installed


@pytest.fixture
def config() -> MemoryModuleConfig:
    return parse_config({"embedding_backend": "word-hash", "tools": {"sets": ["core"]}})
