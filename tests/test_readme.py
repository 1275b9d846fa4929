"""The README's example runs and prints what it says; links on all pages lead somewhere."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.markdown_blocks import ROOT, blocks

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "packages").glob("*/README.md")),
]


@pytest.fixture
def data_dir():
    # Not pytest's own directory: for root the server runs as another user, who may not enter that.
    directory = tempfile.mkdtemp(prefix="memory-readme-")
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.mark.parametrize("page", ["README.md", "packages/memory-core/README.md", "packages/memory-entities/README.md"])
def test_the_example_prints_what_its_comment_says(tmp_path, data_dir, page):
    [example] = blocks(ROOT / page, "python")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_")}
    completed = subprocess.run(
        [sys.executable, "-c", example.code],
        env={**clean, "MEMORY_DATA_DIR": data_dir},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert completed.returncode == 0, completed.stderr
    [promised] = re.findall(r"print\(.*\)  # (.*)", example.code)
    assert completed.stdout == f"{promised}\n"


def test_the_example_is_short():
    [example] = blocks(ROOT / "README.md", "python")
    assert len([line for line in example.code.splitlines() if line.strip()]) <= 10


def test_the_readme_names_its_three_commands_and_serving_comes_first():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^    pip install uv && uv run (.*)$", text, re.MULTILINE)
    assert commands == ["memory serve", "memory demo", "nox"]


def test_every_package_is_in_the_readmes_table():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for package in sorted((ROOT / "packages").glob("memory-*/pyproject.toml")):
        assert f"[{package.parent.name}](packages/{package.parent.name})" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_to_files_lead_to_files(page: Path):
    targets = re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []
