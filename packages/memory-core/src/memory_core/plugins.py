"""Loads plugins from entry points, one by one, and finds what they provide by name.

A set of plugins belongs to one runtime: two runtimes in one process can load different ones.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pluggy

from memory_core import hookspecs
from memory_core.errors import MemoryModuleError, PluginError
from memory_core.providers import PROJECT, Options, Provider, hookimpl

__all__ = ["PluginReport", "Plugins", "Provider", "hookimpl"]

logger = logging.getLogger(__name__)

HOOKS = tuple(name for name in vars(hookspecs) if name.startswith("memory_"))


@dataclass(frozen=True)
class PluginReport:
    """What became of one plugin; `memory plugins` prints these."""

    name: str
    source: str
    status: str  # loaded, disabled, broken
    provides: dict[str, list[str]] = field(default_factory=dict)
    error: str | None = None


class Plugins:
    """The plugins of one runtime."""

    def __init__(self, options: Mapping[str, Options] | None = None, disabled: Iterable[str] = ()) -> None:
        self._options = dict(options or {})
        self._disabled = frozenset(disabled)
        self._reports: dict[str, PluginReport] = {}
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(hookspecs)

    @classmethod
    def from_entry_points(cls, options: Mapping[str, Options] | None = None, disabled: Iterable[str] = ()) -> "Plugins":
        """Load every installed plugin; one that fails to load is reported, never fatal."""
        plugins = cls(options, disabled)
        for entry_point in sorted(entry_points(group=PROJECT), key=lambda found: found.name):
            plugins._load(entry_point)
        return plugins

    def register(self, plugin: object, name: str, source: str = "registered by the program") -> None:
        """Add a plugin object.

        Raises:
            PluginError: the name is taken, or the plugin implements a hook that does not exist.
        """
        if name in self._disabled:
            self._reports[name] = PluginReport(name, source, "disabled")
            return
        if name in self._reports:
            raise PluginError(
                f"plugin {name!r} from {source} has the name of one from {self._reports[name].source}; "
                "names must be unique: uninstall or rename one of them"
            )
        self._manager.register(plugin, name)
        try:
            self._manager.check_pending()
            self._reports[name] = PluginReport(name, source, "loaded", self._provided_by(plugin))
        except Exception as error:
            self._manager.unregister(plugin)
            raise PluginError(f"plugin {name!r} from {source} cannot be used: {error}") from error

    def providers(self, hook: str) -> dict[str, Provider[Any]]:
        """Return what all plugins offer through one hook, by name.

        Raises:
            PluginError: two providers have one name.
        """
        found: dict[str, Provider[Any]] = {}
        for provider in self._collect(getattr(self._manager.hook, hook)()):
            if provider.name in found:
                raise PluginError(
                    f"two plugins provide {provider.name!r} through {hook}; names must be unique: "
                    "disable one of them with MEMORY_DISABLED_PLUGINS"
                )
            found[provider.name] = provider
        return dict(sorted(found.items()))

    def create(self, hook: str, name: str) -> Any:
        """Build what the configuration names, from its own options.

        Raises:
            PluginError: no plugin provides that name.
        """
        providers = self.providers(hook)
        if name not in providers:
            offered = ", ".join(providers) or "none"
            broken = "".join(f"; plugin {r.name!r} failed to load: {r.error}" for r in self.reports if r.error)
            raise PluginError(
                f"no installed plugin provides {name!r} through {hook} (provided: {offered}{broken}); "
                "install the package that does, or change the configuration that names it"
            )
        return providers[name].create(self._options.get(name, {}))

    @property
    def reports(self) -> list[PluginReport]:
        """What became of each plugin, by name."""
        return [self._reports[name] for name in sorted(self._reports)]

    def _load(self, entry_point: EntryPoint) -> None:
        source = f"{entry_point.dist.name} {entry_point.dist.version}" if entry_point.dist else entry_point.value
        if entry_point.name in self._disabled:
            self._reports[entry_point.name] = PluginReport(entry_point.name, source, "disabled")
            return
        if entry_point.name in self._reports:
            # A duplicate name is a mistake of the installation, not of one plugin: it must not go unnoticed.
            self.register(object(), entry_point.name, source)
        try:
            self.register(entry_point.load(), entry_point.name, source)
        except Exception as error:
            # An isolation point: third-party code may fail in any way while it is imported.
            logger.exception("plugin %r from %s is left out", entry_point.name, source)
            cause = error if isinstance(error, MemoryModuleError) else f"{type(error).__name__}: {error}"
            self._reports[entry_point.name] = PluginReport(entry_point.name, source, "broken", error=str(cause))

    def _provided_by(self, plugin: object) -> dict[str, list[str]]:
        provided: dict[str, list[str]] = {}
        for hook in HOOKS:
            implementation = getattr(plugin, hook, None)
            if implementation is not None:
                provided[hook] = sorted(provider.name for provider in self._collect([implementation()]))
        return provided

    def _collect(self, answers: Iterable[Any]) -> list[Provider[Any]]:
        providers = [provider for answer in answers for provider in answer]
        for provider in providers:
            if not isinstance(provider, Provider):
                raise PluginError(f"a hook returned {provider!r}; hooks return a list of Provider objects")
        return providers
