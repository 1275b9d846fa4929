"""Stores rules: how to behave."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from memory_core.callers import DEFAULT_TENANT, Caller
from memory_core.database import transaction
from memory_core.embedding import Embedder, embed_texts
from memory_core.events import Event, record_events
from memory_core.facts import require_episodes
from memory_core.generations import require_generation
from memory_core.queries import load_queries
from memory_core.text import clean_content, clean_name, preprocess_text
from memory_core.validation import parse_metadata, parse_moment, parse_optional_id, parse_tags
from memory_core.vocabulary import Permanence, parse_word

if TYPE_CHECKING:
    from memory_core.database import Database

SQL = load_queries("rules")

# A rule that nobody chose a permanence for fades a little faster than a fact until it has proven itself.
UNCHOSEN_DECAY_RATE = 0.01


async def store_rule(
    pool: Database,
    content: str,
    embedding_engine: Embedder,
    *,
    scope: str = "global",
    permanence: str | None = None,
    tags: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    source_butler: str | None = None,
    source_episode_id: UUID | str | None = None,
    tenant_id: str = DEFAULT_TENANT,
    request_context: Mapping[str, Any] | None = None,
    now: datetime | None = None,
) -> UUID:
    """Store how to behave, as a candidate, and return its id.

    Raises:
        InvalidInputError: a value breaks its rule, or the source episode does not exist; nothing was stored.
    """
    caller = Caller.of(tenant_id, request_context)
    moment = parse_moment(now)
    rule_id = uuid4()
    text = clean_content(content)
    chosen = Permanence.STANDARD if permanence is None else parse_word(Permanence, permanence, "permanence")
    episode_id = parse_optional_id(source_episode_id, "source_episode_id")
    values = (
        clean_name(scope, "scope"),
        UNCHOSEN_DECAY_RATE if permanence is None else chosen.decay_rate,
        chosen,
        None if source_butler is None else clean_name(source_butler, "source_butler"),
        episode_id,
        json.dumps(parse_tags(tags)),
        json.dumps(parse_metadata(metadata)),
        moment,
    )
    [vector] = await embed_texts(embedding_engine, [text])
    async with transaction(pool) as connection:
        await require_generation(connection, embedding_engine, moment)
        await require_episodes(connection, [episode_id] if episode_id else [], caller)
        await connection.execute(
            SQL["insert_rule"], rule_id, caller.tenant_id, text, vector, preprocess_text(text), *values
        )
        await record_events(connection, [Event("rule_created", "rule", rule_id)], caller=caller, now=moment)
    return rule_id
