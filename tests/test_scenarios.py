"""Every scenario of the specification is named by a test, and every name that a test uses is a scenario."""

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
LISTED = tomllib.loads((ROOT / "tests" / "scenarios.toml").read_text(encoding="utf-8"))
DOCUMENTS = ("module", "storage", "agent")
SCENARIOS = {title for document in DOCUMENTS for title in LISTED[document]}

# The agent's specification also numbers its invariants and lists error cases; its tests name those in the same way.
OTHER_TITLES = re.compile(r"Invariant \d+: .+|Error case: .+")


def _named_in(path):
    """Return the titles in `pytest.mark.scenario("…")` of one file, however the mark is applied."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "scenario":
            yield from (argument.value for argument in node.args if isinstance(argument, ast.Constant))


def _test_files():
    folders = [ROOT / "tests", *(ROOT / "packages").glob("*/tests")]
    return [path for folder in folders for path in folder.rglob("test_*.py")]


def _named():
    return {title for path in _test_files() for title in _named_in(path)}


def test_every_scenario_is_named_by_a_test_or_pending_with_its_issue():
    missing = SCENARIOS - _named() - set(LISTED["pending"])
    assert sorted(missing) == []


def test_every_name_that_a_test_uses_is_a_scenario():
    unknown = {title for title in _named() if title not in SCENARIOS and not OTHER_TITLES.fullmatch(title)}
    assert sorted(unknown) == []


def test_nothing_is_pending_that_a_test_proves_or_that_is_no_scenario():
    pending = LISTED["pending"]
    assert sorted(set(pending) & _named()) == []
    assert sorted(set(pending) - SCENARIOS) == []
    assert all(issue.strip() for issue in pending.values())
