"""What memory-entities offers to a runtime."""

from collections.abc import Sequence

from memory_core.providers import Provider, hookimpl
from memory_core.tools import Tool


@hookimpl
def memory_tools() -> Sequence[Provider[Sequence[Tool]]]:
    """Offer the entity tools."""
    return [Provider("entities", lambda _options: _entity_tools())]


def _entity_tools() -> Sequence[Tool]:
    # Imported on use: a runtime that serves other tool sets need not load them.
    from memory_entities import entity_tools

    return entity_tools.TOOLS
