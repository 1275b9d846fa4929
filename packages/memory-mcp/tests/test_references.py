"""Pages that are written from the code say what the code does."""

from pathlib import Path

import pytest
from memory_mcp import commands_reference, tools_reference

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize(
    ("page", "module"),
    [("tools.md", tools_reference), ("command-line.md", commands_reference)],
    ids=["tools", "commands"],
)
def test_the_page_is_what_its_module_writes(page, module):
    remedy = f"uv run python -m {module.__name__} > docs/{page}"
    assert (DOCS / page).read_text(encoding="utf-8") == module.reference(), f"run: {remedy}"


def test_every_tool_of_every_set_is_described():
    page = tools_reference.reference()
    for name in ("memory_search", "entity_merge", "memory_run_consolidation", "memory_requeue_episodes"):
        assert f"### `{name}`" in page
    assert "19 tools are served by default" in page


def test_every_command_is_described():
    page = commands_reference.reference()
    for name in ("memory serve", "memory store fact", "memory worker run", "memory token create", "memory doctor"):
        assert f"## `{name}`" in page
