import ast
import subprocess
import sys
from pathlib import Path

import memory_agent
import pytest

SEED_FUNCTIONS = (
    "tokenize term_frequency cosine_similarity_sparse cosine_similarity_dense compute_decay_multiplier apply_decay"
    " fast_search deep_search search summarize_old_memories categorize all_categories ensure_memory_schema"
    " save_memory recall_memory list_memories search_memories"
)
SEED_TYPES = (
    "MemoryManagerOptions EnrichedMemory SearchResult SearchMode SearchOptions ScoredMemory DeepSearchFn"
    " MemoryCategory CategoryResult LRUCacheOptions MemoryManager IDFCorpus LRUCache"
)
SEED_METHODS = {
    "MemoryManager": "save recall search search_fast list list_by_category get_related invalidate_agent clear_cache"
    " get_cache_stats set_deep_search_fn",
    "IDFCorpus": "add_document remove_document idf tfidf_vector tfidf_dense_vector",
    "LRUCache": "get set delete invalidate_prefix clear prune",
}
SOURCE = Path(memory_agent.__file__).parent
# The first is loaded by memory-core's plugin loader alone, the second imports memory-core when it is called.
OPTIONAL = {"plugin.py", "promotion.py"}


@pytest.mark.parametrize("name", f"{SEED_FUNCTIONS} {SEED_TYPES}".split())
def test_every_name_of_the_specification_is_exported(name):
    assert name in memory_agent.__all__
    assert hasattr(memory_agent, name)


@pytest.mark.parametrize("owner", SEED_METHODS)
def test_every_method_of_the_specification_exists(owner):
    for method in SEED_METHODS[owner].split():
        assert callable(getattr(getattr(memory_agent, owner), method))


def test_the_package_needs_the_standard_library_alone():
    for path in SOURCE.glob("*.py"):
        if path.name in OPTIONAL:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            roots = {module.partition(".")[0] for module in modules}
            assert roots <= {*sys.stdlib_module_names, "memory_agent"}, path.name


def test_importing_the_package_loads_nothing_of_memory_core():
    code = "import sys, memory_agent; sys.exit('memory_core' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
