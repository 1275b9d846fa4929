"""The error tree: one root, and bad input is a ValueError as well."""


class MemoryModuleError(Exception):
    """The root of every error that Butler Memory raises on purpose."""


class InvalidInputError(MemoryModuleError, ValueError):
    """A caller's value breaks a rule; the message states value, rule and remedy, and nothing was changed."""


class InvalidTransitionError(InvalidInputError):
    """A memory is in a state from which the asked transition does not exist."""


class TenantMismatchError(InvalidInputError):
    """A tenant was named that is not the caller's own."""


class ConfigError(InvalidInputError):
    """The configuration has an unknown key or a bad value; the message names the key."""


class PluginError(MemoryModuleError):
    """A plugin that the configuration names is missing, or two plugins claim one name."""


class ServerError(MemoryModuleError):
    """The database server cannot be started, reached or used."""


class MigrationError(ServerError):
    """The database's schema cannot be brought to the version that this package needs."""


class EmbeddingError(MemoryModuleError):
    """A text could not be embedded, or a vector does not fit the stored ones."""
