"""Finds tools that other packages bring, whether or not the configuration serves them to models."""

from memory_core.config import MemoryModuleConfig
from memory_core.errors import InvalidInputError
from memory_core.plugin_selection import load_plugins
from memory_core.tools import Tool


def installed_tool(set_name: str, name: str) -> Tool:
    """Return a tool of a set.

    Raises:
        InvalidInputError: no plugin brings it, or the one that does is disabled.
        PluginError: two plugins have one name.
    """
    plugins = load_plugins(MemoryModuleConfig())
    offered = plugins.create("memory_tools", set_name) if set_name in plugins.providers("memory_tools") else []
    for tool in offered:
        if isinstance(tool, Tool) and tool.name == name:
            return tool
    raise InvalidInputError(f"no plugin that is loaded brings the tool {name!r}; `memory plugins` tells which are")
