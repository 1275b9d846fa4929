"""The names that programs import from memory_core."""

import ast
import subprocess
import sys
from pathlib import Path

import memory_core

PACKAGE = Path(memory_core.__file__).parent


def test_every_public_name_can_be_imported():
    for name in memory_core.__all__:
        assert getattr(memory_core, name) is not None


def test_the_stub_lists_what_it_imports():
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    imported = {alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    [listed] = [ast.literal_eval(node.value) for node in stub.body if isinstance(node, ast.Assign)]
    assert sorted(imported) == sorted(listed)


def test_no_public_name_is_hidden_by_a_module_of_that_name():
    modules = {path.stem for path in PACKAGE.iterdir()}
    assert modules & set(memory_core.__all__) == set()


def test_importing_the_package_waits_for_nothing_heavy():
    program = (
        "import sys, memory_core.errors; print([m for m in ('asyncpg', 'pydantic', 'alembic') if m in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
