"""The tools that find memories again. Their docstrings are what a model reads before it calls one."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from weakref import WeakKeyDictionary

from pydantic import Field
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict  # pydantic reads typing's own only from Python 3.12 on

from memory_core import context_block, stats
from memory_core.candidates import MAX_LIMIT, SearchMode, parse_mode
from memory_core.plugins import Plugins
from memory_core.recalling import recall
from memory_core.reranking import Reranker
from memory_core.runtime import Memory
from memory_core.scoring import Scorer
from memory_core.searching import search
from memory_core.tools import RequestContext, Tool, tool


class UnchosenLimit(int):
    """The limit that models are told of; recognised as not chosen by the caller, it gives way to a configured one."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> CoreSchema:
        """Let any host show it in its schema as the number that it is."""
        return core_schema.int_schema()


class UnchosenMode(str):
    """The mode that models are told of; recognised as not chosen by the caller, it gives way to a configured one."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> CoreSchema:
        """Let any host show it in its schema as the text that it is."""
        return core_schema.str_schema()


DEFAULT_LIMIT = UnchosenLimit(10)
DEFAULT_MODE: Any = UnchosenMode("hybrid")

_CREATED: WeakKeyDictionary[Plugins, dict[tuple[str, str], Any]] = WeakKeyDictionary()

Types = Annotated[
    list[Literal["episode", "fact", "rule"]] | None, Field(description="Which kinds of memory; all by default.")
]
Scope = Annotated[
    str | None, Field(description="A butler's name: its own memories and the global ones; without it, all.")
]
Limit = Annotated[int, Field(description="How many at most.", ge=1, le=MAX_LIMIT)]
MinConfidence = Annotated[
    float, Field(description="Leave out facts and rules that have faded below this, from 0 to 1.", ge=0, le=1)
]


class EpisodeStats(TypedDict):
    """Episodes by state."""

    total: int
    unconsolidated: int
    consolidated: int
    failed: int
    dead_letter: int
    expired: int
    backlog_age_hours: float | None


class FactStats(TypedDict):
    """Facts by state."""

    total: int
    active: int
    fading: int
    superseded: int
    expired: int
    retracted: int


class RuleStats(TypedDict):
    """Rules by state; fading ones are counted under their maturity, too."""

    total: int
    candidate: int
    established: int
    proven: int
    anti_pattern: int
    fading: int
    forgotten: int


class WorkerStats(TypedDict):
    """The last run of a worker."""

    status: str
    started_at: str
    finished_at: str | None


class Stats(TypedDict):
    """The answer to a stats call."""

    episodes: EpisodeStats
    facts: FactStats
    rules: RuleStats
    workers: dict[str, WorkerStats]


@tool(title="Search memories", read_only=True)
async def memory_search(
    memory: Memory,
    query: Annotated[str, Field(description="What to look for: a question or a few words.")],
    types: Types = None,
    scope: Scope = None,
    mode: Annotated[
        SearchMode, Field(description="hybrid (usual), semantic (by meaning) or keyword (by words).")
    ] = DEFAULT_MODE,
    limit: Limit = DEFAULT_LIMIT,
    min_confidence: MinConfidence = 0.2,
    request_context: RequestContext = None,
) -> list[dict[str, Any]]:
    """Find memories of any kind by what they say, best match first.

    Use it to look something up. To be reminded of what matters about a topic, use memory_recall.
    """
    return await search(
        memory.pool,
        query,
        memory.embedder,
        types=types,
        scope=scope,
        mode=_mode(memory, mode),
        limit=_limit(memory, limit),
        min_confidence=min_confidence,
        tenant_id=memory.tenant_id,
        request_context=request_context,
    )


@tool(title="Recall a topic", read_only=True)
async def memory_recall(
    memory: Memory,
    topic: Annotated[str, Field(description="What to be reminded of.")],
    scope: Scope = None,
    limit: Limit = DEFAULT_LIMIT,
    explain: Annotated[bool, Field(description="Say for each memory how its score came about.")] = False,
    request_context: RequestContext = None,
) -> list[dict[str, Any]]:
    """Be reminded of what matters about a topic: relevant, important, recently used and certain memories first.

    Recalling a memory keeps it fresh. To look something up without that, use memory_search.
    """
    return await recall(
        memory.pool,
        topic,
        memory.embedder,
        scope=scope,
        mode=memory.config.retrieval.default_mode,
        limit=_limit(memory, limit),
        weights=memory.config.retrieval.score_weights.weights(),
        scorer=_scorer(memory),
        reranker=_reranker(memory),
        explain=explain,
        tenant_id=memory.tenant_id,
        request_context=request_context,
    )


@tool(title="Build a context block", read_only=True, idempotent=True)
async def memory_context(
    memory: Memory,
    trigger_prompt: Annotated[str, Field(description="What the session is about to work on.")],
    butler: Annotated[str, Field(description="The butler whose session it is; bounds the scope.")],
    token_budget: Annotated[
        int | None, Field(description="Tokens that the block may take; the configured number by default.", ge=0)
    ] = None,
    request_context: RequestContext = None,
) -> str:
    """Get the facts and rules that matter for a prompt as one text block, to be put before a session's instructions."""
    return await context_block.memory_context(
        memory.pool,
        trigger_prompt,
        butler,
        memory.embedder,
        token_budget=token_budget,
        config=memory.config.retrieval,
        scorer=_scorer(memory),
        tenant_id=memory.tenant_id,
        request_context=request_context,
    )


@tool(title="Count memories", read_only=True, idempotent=True)
async def memory_stats(
    memory: Memory,
    scope: Annotated[str | None, Field(description="Count only global facts and rules and those of one scope.")] = None,
    request_context: RequestContext = None,
) -> Stats:
    """See how many memories there are in each state, how many hours the oldest unconsolidated episode waits,
    and when each worker last ran.
    """
    counted: Any = await stats.memory_stats(
        memory.pool, scope=scope, tenant_id=memory.tenant_id, request_context=request_context
    )
    answer: Stats = counted
    return answer


def _limit(memory: Memory, asked: int) -> int:
    retrieval = memory.config.retrieval
    configured = "default_limit" in retrieval.model_fields_set
    return retrieval.default_limit if configured and isinstance(asked, UnchosenLimit) else int(asked)


def _mode(memory: Memory, asked: str) -> SearchMode:
    return memory.config.retrieval.default_mode if isinstance(asked, UnchosenMode) else parse_mode(asked)


def _scorer(memory: Memory) -> Scorer:
    scorer: Scorer = _created(memory, "memory_scorers", memory.config.retrieval.scorer)
    return scorer


def _reranker(memory: Memory) -> Reranker | None:
    name = memory.config.retrieval.reranker
    return None if name is None else _created(memory, "memory_rerankers", name)


def _created(memory: Memory, hook: str, name: str) -> Any:
    """Create what a plugin provides once for each runtime: a reranker may load a model."""
    created = _CREATED.setdefault(memory.plugins, {})
    if (hook, name) not in created:
        created[hook, name] = memory.plugins.create(hook, name)
    return created[hook, name]


TOOLS: tuple[Tool, ...] = (memory_search, memory_recall, memory_context, memory_stats)
