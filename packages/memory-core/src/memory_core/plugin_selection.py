"""What a runtime takes from its plugins: the ones that its configuration names, and a message where one is missing."""

import re
from collections.abc import Iterator, Sequence

from memory_core.config import MemoryModuleConfig
from memory_core.config_sources import disabled_plugins
from memory_core.errors import PluginError
from memory_core.migration_chains import CORE_CHAIN, MigrationChain
from memory_core.plugins import HOOKS, Plugins
from memory_core.tools import Tool


def load_plugins(config: MemoryModuleConfig) -> Plugins:
    """Load the installed plugins with the options that a configuration gives them.

    Raises:
        PluginError: two plugins have one name, or two provide one name through a hook.
    """
    return Plugins.from_entry_points(config.plugins, disabled_plugins())


def require_named_plugins(plugins: Plugins, config: MemoryModuleConfig) -> None:
    """Check that everything the configuration names is provided, before anything is started.

    Raises:
        PluginError: something is missing; the message names it and the key that names it.
    """
    problems = missing_plugins(plugins, config)
    if problems:
        raise PluginError("; ".join(problems))


def missing_plugins(plugins: Plugins, config: MemoryModuleConfig) -> list[str]:
    """Return a message for each name in the configuration that no plugin provides."""
    missing = [
        f"modules.memory.{key} names {name!r}: {plugins.explain_missing(hook, name)}"
        for key, hook, name in _named(config)
        if name not in plugins.providers(hook)
    ]
    return missing + _unclaimed_options(plugins, config)


def collect_tools(plugins: Plugins, config: MemoryModuleConfig) -> dict[str, Tool]:
    """Return the tools of the configured sets, by name.

    Raises:
        PluginError: a set is missing, two sets have a tool of one name, or a tool to leave out does not exist.
    """
    tools: dict[str, Tool] = {}
    for name in config.tools.sets:
        for tool in _tool_set(plugins, name):
            if tool.name in tools:
                raise PluginError(f"tool {tool.name!r} is in two sets; leave one of them out of tools.sets")
            tools[tool.name] = tool
    for name in config.tools.exclude:
        if tools.pop(name, None) is None:
            raise PluginError(f"tools.exclude names {name!r}, which no set of tools.sets has")
    return tools


def migration_chains(plugins: Plugins) -> list[MigrationChain]:
    """Return the core's chain and then those that plugins bring, by provider name.

    Raises:
        PluginError: a plugin's chain cannot be applied.
    """
    chains = [CORE_CHAIN]
    for name in plugins.providers("memory_migrations"):
        chain = plugins.create("memory_migrations", name)
        _require_applicable(chain, name, chains)
        chains.append(chain)
    return chains


def _named(config: MemoryModuleConfig) -> Iterator[tuple[str, str, str]]:
    yield "embedding_backend", "memory_embedding_backends", config.embedding_backend
    yield "retrieval.scorer", "memory_scorers", config.retrieval.scorer
    if config.retrieval.reranker is not None:
        yield "retrieval.reranker", "memory_rerankers", config.retrieval.reranker
    if config.consolidation.spawner is not None:
        yield "consolidation.spawner", "memory_spawners", config.consolidation.spawner
    for name in config.tools.sets:
        yield "tools.sets", "memory_tools", name
    for name in config.schedule.of_plugins:
        yield f"schedule.{name}", "memory_workers", name


def _unclaimed_options(plugins: Plugins, config: MemoryModuleConfig) -> list[str]:
    if any(report.status != "loaded" for report in plugins.reports):
        # The options may be those of a plugin that is disabled or broken, which must not keep the rest from starting.
        return []
    provided = {name for hook in HOOKS for name in plugins.providers(hook)}
    return [
        f"modules.memory.plugins.{name} has options for {name!r}, which no installed plugin provides; "
        "install the package that does, or remove the table"
        for name in config.plugins
        if name not in provided
    ]


def _tool_set(plugins: Plugins, name: str) -> Sequence[Tool]:
    tools: Sequence[Tool] = plugins.create("memory_tools", name)
    if not isinstance(tools, list | tuple) or not all(isinstance(tool, Tool) for tool in tools):
        raise PluginError(f"tool set {name!r} is {str(tools)[:100]}; its provider must create a list of tools")
    return tools


def _require_applicable(chain: MigrationChain, name: str, before: Sequence[MigrationChain]) -> None:
    if not isinstance(chain, MigrationChain):
        raise PluginError(
            f"the migrations of {name!r} are {str(chain)[:100]}; its provider must create a MigrationChain"
        )
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", chain.name) or chain.name in {other.name for other in before}:
        raise PluginError(
            f"the migrations of {name!r} have the chain name {chain.name!r}, which names their version table; "
            "it must be lower-case letters, digits and underscores, and not that of another chain"
        )
    if not any((chain.location / "versions").glob("[!_]*.py")):
        raise PluginError(f"the migrations of {name!r} have no revisions in {str(chain.location / 'versions')!r}")
