"""Builds the block of memories that a session begins with."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.candidates import parse_query, search_space
from memory_core.config import RetrievalConfig
from memory_core.context_budget import Section, TokenCounter, estimate_tokens, fit_sections
from memory_core.database import UNAVAILABLE, transaction
from memory_core.embedding import Embedder
from memory_core.errors import InvalidInputError
from memory_core.found_memories import read_found
from memory_core.queries import load_queries
from memory_core.recalling import DEFAULT_MIN_CONFIDENCE, Recalled, rank_for_recall
from memory_core.rows import row_to_dict
from memory_core.scoring import Scorer
from memory_core.text import clean_name
from memory_core.validation import parse_moment
from memory_core.vocabulary import Maturity, MemoryType

if TYPE_CHECKING:
    from memory_core.candidates import SearchSpace
    from memory_core.database import Database

logger = logging.getLogger(__name__)

SQL = load_queries("context")

TITLE = "# Memory Context\n"
RECALLED = 20
RECENT_EPISODES = 10

_MATURITY_ORDER = (Maturity.PROVEN, Maturity.ESTABLISHED, Maturity.CANDIDATE, Maturity.ANTI_PATTERN)


async def memory_context(
    pool: Database,
    trigger_prompt: str,
    butler: str,
    embedding_engine: Embedder,
    *,
    token_budget: int | None = None,
    config: RetrievalConfig | None = None,
    scorer: Scorer | None = None,
    count_tokens: TokenCounter = estimate_tokens,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> str:
    """Return a block of the facts and rules that matter for a prompt, never above its budget of tokens.

    Building it changes nothing, so the same input gives the same block. Where the database is away, the block is
    empty and the session goes on.

    Raises:
        InvalidInputError: the butler or the budget is not valid.
        EmbeddingError: the stored vectors were made by another model.
    """
    caller = Caller.of(tenant_id, request_context)
    settings = config or RetrievalConfig()
    budget = _parse_budget(settings.context_token_budget if token_budget is None else token_budget)
    scope = clean_name(butler, "butler")
    space = search_space(
        caller.tenant_id, [MemoryType.FACT, MemoryType.RULE], scope, DEFAULT_MIN_CONFIDENCE, parse_moment(now)
    )
    try:
        sections = await _sections(pool, trigger_prompt, embedding_engine, space, settings, scorer)
    except UNAVAILABLE:
        logger.warning("the memory database is away: the session begins without memories", exc_info=True)
        sections = []
    return fit_sections(TITLE, sections, budget, count_tokens)


async def _sections(
    pool: Database,
    prompt: str,
    embedder: Embedder,
    space: SearchSpace,
    settings: RetrievalConfig,
    scorer: Scorer | None,
) -> list[Section]:
    weights = settings.score_weights.weights()
    topic = parse_query(prompt)
    ranked = await rank_for_recall(pool, topic, embedder, space, settings.default_mode, RECALLED, weights, scorer)
    recalled = {found.hit.candidate.id: found for found in ranked[:RECALLED]}
    async with transaction(pool) as connection:
        memories = await read_found(connection, [found.hit for found in recalled.values()], space.tenant_id)
        asked = RECENT_EPISODES if settings.context_episodes else 0
        rows = await connection.fetch(SQL["recent_episodes"], space.tenant_id, space.scope, space.now, asked)
    facts = [memory for memory in memories if memory["memory_type"] == MemoryType.FACT]
    rules = [memory for memory in memories if memory["memory_type"] == MemoryType.RULE]
    quotas = settings.context_quotas
    return [
        Section("## Key Facts", [_fact_line(fact, recalled[fact["id"]]) for fact in facts], quotas.facts),
        Section("## Active Rules", [_rule_line(rule) for rule in by_maturity(rules)], quotas.rules),
        Section("## Recent Episodes", [_episode_line(row_to_dict(row)) for row in rows], quotas.episodes),
    ]


def by_maturity(rules: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return rules with the most proven first and the warnings last, each group in the order given."""
    return sorted(rules, key=lambda rule: _MATURITY_ORDER.index(Maturity(rule["maturity"])))


def _fact_line(fact: Mapping[str, Any], recalled: Recalled) -> str:
    subject, predicate, content = (fold(fact[part]) for part in ("subject", "predicate", "content"))
    return f"- [{subject}] [{predicate}]: {content} (confidence: {recalled.components.confidence:.2f})"


def _rule_line(rule: Mapping[str, Any]) -> str:
    warning = "WARNING: " if rule["maturity"] == Maturity.ANTI_PATTERN else ""
    effectiveness = f"effectiveness: {rule['effectiveness_score']:.2f}"
    return f"- {warning}{fold(rule['content'])} (maturity: {rule['maturity']}, {effectiveness})"


def _episode_line(episode: Mapping[str, Any]) -> str:
    return f"- [{episode['created_at']:%Y-%m-%d %H:%M}] {fold(episode['content'])}"


def fold(text: str) -> str:
    """Return a text on one line: what a memory says is data and must not break out of its bullet."""
    return " ".join(text.split())


def _parse_budget(token_budget: int) -> int:
    if isinstance(token_budget, bool) or not isinstance(token_budget, int) or token_budget < 0:
        raise InvalidInputError(f"token_budget {token_budget!r} is not a whole number from 0 up")
    return token_budget
