"""Butler Memory, assembled: the MCP server, the command line and the host module."""

from importlib.metadata import version

__version__ = version("memory-mcp")
