"""Butler Memory, assembled: the MCP server, the command line and the host module."""
