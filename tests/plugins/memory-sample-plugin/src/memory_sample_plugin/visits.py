"""A tool and a worker on a table of the plugin's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from memory_core import Memory, tool
from pydantic import Field
from typing_extensions import TypedDict

RECORD_VISIT = "INSERT INTO sample_visits (tenant_id, place) VALUES ($1, $2)"
COUNT_VISITS = "SELECT count(*) FROM sample_visits WHERE tenant_id = $1 AND place = $2"
DELETE_OLD_VISITS = "DELETE FROM sample_visits WHERE visited_at <= now() - make_interval(days => $1) RETURNING place"


class Visits(TypedDict):
    """The answer to a visit."""

    place: str
    visits: int


@tool(title="Record a visit")
async def sample_visit(memory: Memory, place: Annotated[str, Field(description="Where it was.")]) -> Visits:
    """Record that the user visited a place, and tell how often they have been there."""
    async with memory.pool.acquire() as connection, connection.transaction():
        await connection.execute(RECORD_VISIT, memory.tenant_id, place)
        visits = await connection.fetchval(COUNT_VISITS, memory.tenant_id, place)
    return {"place": place, "visits": visits}


class ForgetOldVisits:
    """Deletes visits after some days."""

    name = "sample"
    cron = "15 2 * * *"

    def __init__(self, days: int = 30) -> None:
        self._days = days

    async def run(self, memory: Memory) -> Mapping[str, int]:
        """Delete the old visits of all tenants and return how many there were."""
        return {"deleted": len(await memory.pool.fetch(DELETE_OLD_VISITS, self._days))}
