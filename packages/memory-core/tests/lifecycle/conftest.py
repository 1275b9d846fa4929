"""A runtime on the test's own database, with the core's plugin alone."""

import pytest
from memory_core import Memory, MemoryModuleConfig, Plugins, builtin
from memory_core.lifecycle_tools import TOOLS


@pytest.fixture
def memory(pool, embedder):
    plugins = Plugins()
    plugins.register(builtin, "core")
    return Memory(pool, embedder, MemoryModuleConfig(), plugins, {tool.name: tool for tool in TOOLS})
