"""These tests need torch; they run in their own nox session, which sets MEMORY_TEST_SENTENCE_TRANSFORMERS=1."""

import importlib.util
import os

collect_ignore_glob: list[str] = []
if os.environ.get("MEMORY_TEST_SENTENCE_TRANSFORMERS") != "1":
    collect_ignore_glob.append("test_*.py")
elif importlib.util.find_spec("sentence_transformers") is None:
    raise RuntimeError("MEMORY_TEST_SENTENCE_TRANSFORMERS is 1 but sentence-transformers is not installed")
else:
    # Whatever is missing must fail at once, not after the hub's retries.
    os.environ["HF_HUB_OFFLINE"] = "1"
