"""The examples of the documentation run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
GUIDE = PACKAGE.parents[1] / "docs" / "embeddings.md"


def python_blocks(document: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", document.read_text(), flags=re.DOTALL)


def test_the_example_of_the_readme_runs() -> None:
    (example,) = python_blocks(PACKAGE / "README.md")
    names: dict[str, object] = {}
    exec(example, names)
    assert len(names["vector"]) == 384  # type: ignore[arg-type]
    names["engine"].close()  # type: ignore[attr-defined]


def test_the_backend_of_the_guide_passes_the_contract(tmp_path: Path) -> None:
    backend, test = python_blocks(GUIDE)
    module = tmp_path / "test_word_hash.py"
    module.write_text(f"{backend}\n\n{test}")
    arguments = ["-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-c", "/dev/null", str(module)]
    finished = subprocess.run([sys.executable, "-m", "pytest", *arguments], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout
    assert "12 passed" in finished.stdout
