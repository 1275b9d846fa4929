"""The plugin for memory-core: an opt-in set of two MCP tools over a memory file.

It is loaded through the entry point `agent` of the group `memory`, and by nothing else: memory-agent itself needs no
memory-core. The set is served when the configuration names it:

    [modules.memory.tools]
    sets = ["core", "agent"]
    [modules.memory.plugins.agent]
    path = "/var/lib/butler/agent-memories.db"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

from memory_core.errors import ConfigError, InvalidInputError, MemoryModuleError
from memory_core.providers import Options, Provider, hookimpl
from memory_core.runtime import Memory
from memory_core.tools import RequestContext, Tool, tool
from pydantic import Field
from typing_extensions import TypedDict

from memory_agent import errors
from memory_agent.agent_memory import MemoryManager
from memory_agent.records import AgentMemory
from memory_agent.store import list_memories, search_memories
from memory_agent.tenant_files import TenantFiles

MAX_LIMIT = 20

AgentId = Annotated[str, Field(description="Whose memory it is: the name of the agent, always the same.", min_length=1)]
Limit = Annotated[int, Field(description="How many memories at most.", ge=1, le=MAX_LIMIT)]


class SavedMemory(TypedDict):
    """The answer to a save call."""

    id: str
    key: str
    category: str | None
    updated_at: str


class RecalledMemory(TypedDict):
    """One memory as a model sees it."""

    key: str
    content: str
    updated_at: str
    archived: bool


class RecalledMemories(TypedDict):
    """The answer to a recall call."""

    memories: list[RecalledMemory]


@hookimpl
def memory_tools() -> Sequence[Provider[Sequence[Tool]]]:
    """Offer the tool set `agent`."""
    return [Provider("agent", agent_tools)]


def agent_tools(options: Options) -> Sequence[Tool]:
    """Return the two tools over the file that the options name.

    Raises:
        ConfigError: the options do not name a file, or have a key that does not exist.
    """
    files = TenantFiles(_configured_path(options))

    @tool(title="Save under a key", idempotent=True)
    async def agent_memory_save(
        memory: Memory,
        agent_id: AgentId,
        key: Annotated[str, Field(description="What to find it by later, for example 'project:alpha:database'.")],
        content: Annotated[str, Field(description="The text to keep.")],
        request_context: RequestContext = None,
    ) -> SavedMemory:
        """Keep a text under a key of your own, replacing what the key held before. It stays until you replace it.

        Use it for what you will ask for by name: settings, addresses, the state of a task.
        """
        with errors_of_the_core():
            saved = await files.run(memory.tenant_id, lambda manager: manager.save(agent_id, key, content))
        return {"id": saved.id, "key": saved.key, "category": saved.category, "updated_at": saved.updated_at}

    @tool(title="Recall by key or words", read_only=True)
    async def agent_memory_recall(
        memory: Memory,
        agent_id: AgentId,
        key: Annotated[str | None, Field(description="The exact key, if you know it.")] = None,
        query: Annotated[str | None, Field(description="Words to search for, if you do not know the key.")] = None,
        limit: Limit = 10,
        request_context: RequestContext = None,
    ) -> RecalledMemories:
        """Read what was kept with agent_memory_save: one text by its key, the best matches for words, or the newest.

        Give either key or query; with neither you get the memories that changed last.
        """
        with errors_of_the_core():
            found = await files.run(memory.tenant_id, lambda manager: look_up(manager, agent_id, key, query, limit))
        return {"memories": [_as_seen(each) for each in found]}

    return (agent_memory_save, agent_memory_recall)


def look_up(
    manager: MemoryManager, agent_id: str, key: str | None, query: str | None, limit: int
) -> Sequence[AgentMemory]:
    """Return one memory by its key, the best matches for words, or the newest.

    Raises:
        InvalidInputError: both a key and words are given.
    """
    if key is not None and query is not None:
        raise InvalidInputError(f"key {key!r} and query {query!r} are both given; give one of them")
    if key is not None:
        recalled = manager.recall(agent_id, key)
        return [recalled] if recalled else []
    if query is not None:
        return search_memories(manager.db, agent_id, query, limit=limit)
    return list_memories(manager.db, agent_id, limit=limit)


@contextmanager
def errors_of_the_core() -> Iterator[None]:
    """Raise this package's errors as the core's own, which servers and hosts know how to tell a model."""
    try:
        yield
    except errors.InvalidInputError as error:
        raise InvalidInputError(str(error)) from error
    except errors.AgentMemoryError as error:
        raise MemoryModuleError(str(error)) from error


def _configured_path(options: Options) -> str:
    unknown = sorted(set(options) - {"path"})
    if unknown:
        raise ConfigError(f"plugins.agent has unknown options {', '.join(unknown)}; its only option is path")
    path = options.get("path")
    if not isinstance(path, str) or not path.strip():
        raise ConfigError(
            f"plugins.agent.path {path!r} names no file; set the path of the SQLite file that keeps agents' memories"
        )
    return path


def _as_seen(memory: AgentMemory) -> RecalledMemory:
    return {
        "key": memory.key,
        "content": memory.content,
        "updated_at": memory.updated_at,
        "archived": memory.archived,
    }
