"""Answers tool calls: checks, waits for the runtime, runs the tool for the caller's tenant, fails open where told."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from memory_core import InvalidInputError, MemoryModuleConfig, Tool
from memory_core.context_block import TITLE
from memory_core.context_budget import estimate_tokens, fit_sections

from memory_mcp.episode_keeping import EpisodeKeeper
from memory_mcp.lazy_runtime import RuntimeSource
from memory_mcp.tool_errors import AWAY_ERRORS, CallTimeoutError

logger = logging.getLogger(__name__)

EPISODE_TOOL = "memory_store_episode"
CONTEXT_TOOL = "memory_context"
# It runs a language model for minutes and has a time limit of its own.
SELF_LIMITED = frozenset({"memory_run_consolidation"})


class ToolCalls:
    """Every tool of a server by name, for any tenant."""

    def __init__(
        self,
        tools: Mapping[str, Tool],
        runtime: RuntimeSource,
        config: MemoryModuleConfig,
        keeper: EpisodeKeeper | None = None,
    ) -> None:
        self.tools = tools
        self._runtime = runtime
        self._config = config
        self.keeper = keeper

    async def call(self, name: str, arguments: Mapping[str, Any], tenant_id: str) -> Any:
        """Run a tool and return its answer as JSON types.

        Raises:
            InvalidInputError: there is no such tool, or an argument is wrong; told without waiting for the database.
            NotReadyError: the database is starting or away, and the tool cannot do without.
            CallTimeoutError: it took too long.
        """
        tool = self.tools.get(name)
        if tool is None:
            raise InvalidInputError(f"tool {name[:60]!r} is not one of: {', '.join(self.tools)}")
        checked = tool.check(arguments)
        if name in SELF_LIMITED or (name == EPISODE_TOOL and self.keeper is not None):
            return await self._run(tool, arguments, checked, tenant_id)
        limit = self._config.serve.call_timeout_seconds
        deadline = asyncio.timeout(limit)
        try:
            async with deadline:
                return await self._run(tool, arguments, checked, tenant_id)
        except TimeoutError:
            # The database's own time-outs are no different to a caller, but only ours names the limit.
            if not deadline.expired():
                raise
            raise CallTimeoutError(f"{name} took longer than {limit:g} seconds and was stopped") from None

    def request_id(self, name: str, arguments: Mapping[str, Any]) -> str | None:
        """Return the id of the request that a call belongs to, if it names one."""
        context = self.tools[name].check(arguments).get("request_context") or {}
        request_id = context.get("request_id")
        return None if request_id is None else str(request_id)

    async def _run(self, tool: Tool, arguments: Mapping[str, Any], checked: Mapping[str, Any], tenant_id: str) -> Any:
        if tool.name == EPISODE_TOOL and self.keeper is not None:
            return await self.keeper.store(checked, tenant_id)
        try:
            memory = await self._runtime.memory()
            answer = await tool.call(memory.for_tenant(tenant_id), arguments)
        except AWAY_ERRORS as error:
            self._runtime.suspect()
            if tool.name != CONTEXT_TOOL:
                raise
            logger.warning("the memory database is away: the session begins without memories (%s)", error)
            return self._empty_block(checked)
        if tool.name == CONTEXT_TOOL and answer == TITLE:
            # The tool itself answers so when the database is away.
            self._runtime.suspect()
        return answer

    def _empty_block(self, checked: Mapping[str, Any]) -> str:
        asked = checked["token_budget"]
        budget = self._config.retrieval.context_token_budget if asked is None else asked
        return fit_sections(TITLE, [], budget, estimate_tokens)
