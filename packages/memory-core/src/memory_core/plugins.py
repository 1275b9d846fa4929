"""Loads plugins from entry points, one by one, and finds what they provide by name.

A set of plugins belongs to one runtime: two runtimes in one process can load different ones.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

import pluggy

from memory_core import hookspecs
from memory_core.errors import MemoryModuleError, PluginError
from memory_core.providers import PROJECT, Options, Provider

logger = logging.getLogger(__name__)

HOOKS = tuple(name for name in vars(hookspecs) if name.startswith("memory_"))

Offers = dict[str, list[Provider[Any]]]


@dataclass(frozen=True)
class PluginReport:
    """What became of one plugin; `memory plugins` prints these."""

    name: str
    source: str
    status: Literal["loaded", "disabled", "broken"]
    provides: dict[str, list[str]] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True)
class _Offer:
    plugin: str
    provider: Provider[Any]


class Plugins:
    """The plugins of one runtime."""

    def __init__(self, options: Mapping[str, Options] | None = None, disabled: Iterable[str] = ()) -> None:
        self._options = dict(options or {})
        self._disabled = frozenset(disabled)
        self._reports: dict[str, PluginReport] = {}
        self._offers: dict[str, dict[str, _Offer]] = {hook: {} for hook in HOOKS}

    @classmethod
    def from_entry_points(cls, options: Mapping[str, Options] | None = None, disabled: Iterable[str] = ()) -> "Plugins":
        """Load every installed plugin; one that fails to load is reported, never fatal.

        Raises:
            PluginError: two plugins have one name, or two provide one name through a hook.
        """
        plugins = cls(options, disabled)
        for entry_point in sorted(entry_points(group=PROJECT), key=lambda found: found.name):
            plugins._load(entry_point)
        return plugins

    def register(self, plugin: object, name: str, source: str = "registered by the program") -> None:
        """Add a plugin object; a disabled name is only noted.

        Raises:
            PluginError: a name is taken, or the plugin implements a hook wrongly.
        """
        if self._may_load(name, source):
            self._accept(name, source, read_offers(plugin, name))

    def providers(self, hook: str) -> dict[str, Provider[Any]]:
        """Return what all plugins offer through one hook, by name."""
        return {name: offer.provider for name, offer in sorted(self._offers[hook].items())}

    def create(self, hook: str, name: str) -> Any:
        """Build what the configuration names, from its own options.

        Raises:
            PluginError: no plugin provides that name, or its provider fails.
        """
        offer = self._offers[hook].get(name)
        if offer is None:
            raise PluginError(self.explain_missing(hook, name))
        try:
            return offer.provider.create(self._options.get(name, {}))
        except MemoryModuleError:
            raise
        except Exception as error:
            # An isolation point: third-party code may fail in any way; the cause travels with the error.
            raise PluginError(
                f"plugin {offer.plugin!r} cannot create {name!r} of {hook}: {type(error).__name__}: {error}; "
                f"check its options in [modules.memory.plugins.{name}]"
            ) from error

    def explain_missing(self, hook: str, name: str) -> str:
        """Return the message for a name that no plugin provides."""
        offered = ", ".join(self.providers(hook)) or "nothing"
        absent = "".join(
            f"; plugin {report.name!r} is {report.status}" + (f": {report.error}" if report.error else "")
            for report in self.reports
            if report.status != "loaded"
        )
        return (
            f"no installed plugin provides {name!r} through {hook} (provided: {offered}{absent}); "
            "install the package that does, or change the configuration that names it"
        )

    @property
    def reports(self) -> list[PluginReport]:
        """What became of each plugin, by name."""
        return [self._reports[name] for name in sorted(self._reports)]

    def _load(self, entry_point: EntryPoint) -> None:
        name, source = entry_point.name, _source(entry_point)
        if not self._may_load(name, source):
            return
        try:
            offers = read_offers(entry_point.load(), name)
        except (Exception, SystemExit) as error:
            # An isolation point: third-party code may fail in any way while it is imported, and even try to exit.
            cause = str(error) if isinstance(error, PluginError) else f"{type(error).__name__}: {error}"
            logger.exception("plugin %r from %s is left out: %s", name, source, cause)
            self._reports[name] = PluginReport(name, source, "broken", error=cause)
        else:
            # Outside the isolation: two plugins with one name are a mistake of the installation, not of one of them.
            self._accept(name, source, offers)

    def _may_load(self, name: str, source: str) -> bool:
        if name in self._disabled:
            self._reports[name] = PluginReport(name, source, "disabled")
            return False
        if name in self._reports:
            raise PluginError(
                f"plugin {name!r} from {source} has the name of one from {self._reports[name].source}; "
                "names must be unique: uninstall or rename one of them"
            )
        return True

    def _accept(self, name: str, source: str, offers: Offers) -> None:
        for hook, providers in offers.items():
            for provider in providers:
                holder = self._offers[hook].get(provider.name)
                if holder is not None:
                    raise PluginError(
                        f"plugins {holder.plugin!r} and {name!r} both provide {provider.name!r} through {hook}; "
                        "names must be unique: disable one of the plugins with MEMORY_DISABLED_PLUGINS"
                    )
        for hook, providers in offers.items():
            self._offers[hook].update({provider.name: _Offer(name, provider) for provider in providers})
        provides = {hook: sorted(provider.name for provider in providers) for hook, providers in offers.items()}
        self._reports[name] = PluginReport(name, source, "loaded", provides)


def read_offers(plugin: object, name: str) -> Offers:
    """Call the hooks that a plugin implements, once, and return what they offer.

    Raises:
        PluginError: a hook does not exist, takes what it is not given, fails, or returns something else than providers.
    """
    # One manager per plugin: what is wrong with this one cannot stay behind among the others.
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(plugin, name)
        manager.check_pending()
        callers = manager.get_hookcallers(plugin) or []
        return {caller.name: _checked(caller.name, caller()) for caller in callers}
    except PluginError as error:
        raise PluginError(f"plugin {name!r} cannot be used: {error}") from error
    except Exception as error:
        # An isolation point: hooks are third-party code; the cause travels with the error.
        raise PluginError(f"plugin {name!r} cannot be used: {type(error).__name__}: {error}") from error


def _checked(hook: str, answers: Sequence[Any]) -> list[Provider[Any]]:
    # The plugin is alone with its manager; pluggy leaves out an answer of None.
    answer = answers[0] if answers else None
    if not isinstance(answer, list | tuple) or not all(_is_provider(item) for item in answer):
        raise PluginError(f"{hook} returned {str(answer)[:100]}; a hook returns a list of Provider(name, create)")
    names = [provider.name for provider in answer]
    if len(set(names)) < len(names):
        raise PluginError(f"{hook} returned one name twice: {', '.join(names)}")
    return list(answer)


def _is_provider(item: Any) -> bool:
    return isinstance(item, Provider) and isinstance(item.name, str) and bool(item.name) and callable(item.create)


def _source(entry_point: EntryPoint) -> str:
    return f"{entry_point.dist.name} {entry_point.dist.version}" if entry_point.dist else entry_point.value
