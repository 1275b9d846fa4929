"""Examines what needs no database: plugins, the embedding model, the spool, the tokens."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from datetime import datetime

from memory_core.config import MemoryModuleConfig
from memory_core.embedding import close_embedder, embed_texts
from memory_core.errors import ConfigError, MemoryModuleError
from memory_core.generations import Generation
from memory_core.plugin_selection import missing_plugins
from memory_core.plugins import Plugins

from memory_mcp.episode_spool import EpisodeSpool, read_episodes
from memory_mcp.findings import Finding, fail, ok, warn
from memory_mcp.tokens import TokenFile

logger = logging.getLogger(__name__)


def check_plugins(plugins: Plugins, config: MemoryModuleConfig) -> Iterator[Finding]:
    """Yield how the plugins fare, and what the configuration names in vain."""
    loaded = [report.name for report in plugins.reports if report.status == "loaded"]
    yield ok("plugins", f"loaded: {', '.join(loaded)}")
    for report in plugins.reports:
        if report.status == "broken":
            yield warn("plugins", f"{report.name} is left out: {report.error}", "mend, update or uninstall its package")
        elif report.status == "disabled":
            yield ok("plugins", f"{report.name} is disabled by MEMORY_DISABLED_PLUGINS")
    for problem in missing_plugins(plugins, config):
        yield fail("plugins", problem, "nothing starts before this is mended")


async def check_model(plugins: Plugins, backend: str) -> tuple[Finding, Generation | None]:
    """Return whether the embedding model is found, is the published one and answers, and which one it is."""
    begun = time.perf_counter()
    try:
        embedder = plugins.create("memory_embedding_backends", backend)
        await embed_texts(embedder, ["Is anybody there?"])
        model = Generation.of(embedder)
        await close_embedder(embedder)
    except MemoryModuleError as error:
        return fail("model", str(error), "see docs/embeddings.md"), None
    except Exception as error:
        # An isolation point: a backend is a plugin's, and may fail in any way.
        logger.exception("the embedding backend %r failed", backend)
        told = f"{backend}: {type(error).__name__}: {error}"
        return fail("model", told, f"see the options in [modules.memory.plugins.{backend}]"), None
    return ok("model", f"{model}, found and answered in {time.perf_counter() - begun:.1f} s"), model


def check_spool(spool: EpisodeSpool | None) -> Finding:
    """Return whether episodes wait for the database."""
    if spool is None:
        return ok("spool", "turned off (spool.max_bytes = 0): episodes are refused while the database is away")
    waiting = sum(len(read_episodes(path)) for path in spool.files())
    if waiting:
        return warn("spool", f"{waiting} episodes wait", "start a server: it stores them once it reaches the database")
    return ok("spool", "no episode waits")


def check_tokens(tokens: TokenFile, config: MemoryModuleConfig, now: datetime) -> Finding:
    """Return whether the HTTP server as it is configured would have the tokens that it needs."""
    # Imported here: it brings the whole of the MCP server along.
    from memory_mcp.http_access import require_tokens_where_needed

    try:
        records = tokens.records()
        require_tokens_where_needed(config.serve, config.serve.host, tokens)
    except ConfigError as error:
        return fail("tokens", str(error), "`memory serve` would not start")
    if not records:
        return ok("tokens", f"none are needed: HTTP is served on {config.serve.host} only")
    over = [record for record in records if record.expires_at and datetime.fromisoformat(record.expires_at) <= now]
    if over:
        remedy = "revoke them with `memory token revoke`, and make new ones where they are missed"
        return warn("tokens", f"{len(over)} of {len(records)} have expired", remedy)
    return ok("tokens", f"{len(records)} in {tokens.path}")
