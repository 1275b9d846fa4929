"""Installs small plugin packages for a test: a module and the metadata by which Python finds its entry point."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent

import pytest

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Return a function that installs a package: its name, its source, and its entry points in the group `memory`."""
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)

    def install_package(name: str, source: str, **entry_points: str) -> None:
        module = name.replace("-", "_")
        (tmp_path / f"{module}.py").write_text(dedent(source), encoding="utf-8")
        metadata = tmp_path / f"{module}-1.2.3.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2.3\n", encoding="utf-8")
        named = entry_points or {module: module}
        lines = [f"{entry} = {target}" for entry, target in named.items()]
        (metadata / "entry_points.txt").write_text("\n".join(["[memory]", *lines, ""]), encoding="utf-8")

    yield install_package
    for module in set(sys.modules) - before:
        if str(getattr(sys.modules[module], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[module]
