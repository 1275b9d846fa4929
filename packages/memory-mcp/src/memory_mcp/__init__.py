"""Butler Memory, assembled: the MCP server, the command line and the host module."""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory_mcp.host_module import MemoryModule

__all__ = ["MemoryModule", "__version__"]

__version__ = version("memory-mcp")


def __getattr__(name: str) -> Any:
    # Imported on use: the servers and the command line start without what only hosts need.
    if name == "MemoryModule":
        from memory_mcp.host_module import MemoryModule

        return MemoryModule
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
