"""The error tree: one root, and bad input is a ValueError as well."""


class AgentMemoryError(Exception):
    """The root of every error that memory-agent raises on purpose."""


class InvalidInputError(AgentMemoryError, ValueError):
    """A caller's value breaks a rule; the message states value, rule and remedy, and nothing was changed."""


class UnusableFileError(AgentMemoryError):
    """A file is no memory file, is damaged or is too new; it was left as it is."""


class UnsupportedSqliteError(AgentMemoryError):
    """The interpreter's SQLite is too old or lacks FTS5."""


class DeepSearchError(AgentMemoryError):
    """A re-ranking model gave no usable answer."""
