"""Episodes that have served their time, or that are too many, are deleted."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest
from memory_core import (
    InvalidInputError,
    NewEpisode,
    create_link,
    get_links,
    run_episode_cleanup,
    store_episode,
    store_episodes,
    store_fact,
    store_rule,
)
from memory_core.cleanup import BATCH_SIZE

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def after(days):
    return NOW + timedelta(days=days)


async def remaining(pool, tenant="default"):
    rows = await pool.fetch("SELECT content FROM episodes WHERE tenant_id = $1 ORDER BY created_at", tenant)
    return [row["content"] for row in rows]


async def fill(pool, count, *, status="consolidated", tenant="default", expires_at=None):
    """Insert episodes straight into the table, a second apart, the oldest first."""
    await pool.execute(
        "INSERT INTO episodes (tenant_id, butler, content, consolidation_status, created_at, expires_at)"
        " SELECT $1, 'jeeves', $3 || ' ' || n, $3, $4::timestamptz + n * interval '1 second', $5"
        " FROM generate_series(1, $2::int) AS n",
        tenant,
        count,
        status,
        NOW,
        expires_at or after(30),
    )


@pytest.mark.scenario("Expired episodes deleted")
@pytest.mark.scenario("Episode cleanup on schedule")
async def test_expired_episodes_are_deleted_whether_consolidated_or_not(pool, embedder):
    await store_episode(pool, "short", "jeeves", embedder, ttl_days=1, now=NOW)
    await store_episode(pool, "long", "jeeves", embedder, ttl_days=9, now=NOW)
    assert await run_episode_cleanup(pool, now=after(1)) == {
        "expired_deleted": 0,
        "capacity_deleted": 0,
        "remaining": 2,
    }
    counts = await run_episode_cleanup(pool, now=after(1.01))
    assert counts == {"expired_deleted": 1, "capacity_deleted": 0, "remaining": 1}
    assert await remaining(pool) == ["long"]


@pytest.mark.scenario("Capacity enforcement targets consolidated episodes")
async def test_above_the_limit_the_oldest_consolidated_episodes_go_first(pool):
    await fill(pool, 5)
    await fill(pool, 2, status="pending")
    await fill(pool, 1, status="dead_letter")
    counts = await run_episode_cleanup(pool, 6, now=NOW)
    assert counts == {"expired_deleted": 0, "capacity_deleted": 2, "remaining": 6}
    assert {"consolidated 1", "consolidated 2"}.isdisjoint(await remaining(pool))


async def test_episodes_that_are_not_consolidated_are_never_deleted_for_their_number(pool):
    await fill(pool, 3)
    for status in ("pending", "failed", "dead_letter"):
        await fill(pool, 2, status=status)
    counts = await run_episode_cleanup(pool, 0, now=NOW)
    assert counts == {"expired_deleted": 0, "capacity_deleted": 3, "remaining": 6}


@pytest.mark.scenario("Cleanup returns statistics")
async def test_a_backlog_of_several_batches_is_deleted_and_counted(pool):
    await fill(pool, BATCH_SIZE * 2 + 7, expires_at=after(-1))
    await fill(pool, BATCH_SIZE + 5)
    counts = await run_episode_cleanup(pool, 3, now=NOW)
    assert counts == {"expired_deleted": BATCH_SIZE * 2 + 7, "capacity_deleted": BATCH_SIZE + 2, "remaining": 3}
    assert await remaining(pool) == [f"consolidated {n}" for n in range(BATCH_SIZE + 3, BATCH_SIZE + 6)]
    assert await run_episode_cleanup(pool, 3, now=NOW) == {
        "expired_deleted": 0,
        "capacity_deleted": 0,
        "remaining": 3,
    }
    deleted = await pool.fetchval("SELECT count(DISTINCT entity_id) FROM memory_events")
    assert deleted == BATCH_SIZE * 3 + 9


async def test_the_event_of_a_deletion_remembers_what_the_episode_was_the_source_of(pool, embedder):
    episode_id = await store_episode(pool, "the user likes tea", "jeeves", embedder, now=NOW)
    fact_id = await store_fact(pool, "user", "likes", "tea", embedder, source_episode_id=episode_id, now=NOW)
    rule_id = await store_rule(pool, "Offer tea", embedder, source_episode_id=episode_id, now=NOW)
    await create_link(pool, "fact", fact_id, "episode", episode_id, "derived_from", now=NOW)
    context = {"request_id": "r-4", "actor": "jeeves"}
    await run_episode_cleanup(pool, request_context=context, now=after(8))
    event = await pool.fetchrow(
        "SELECT payload, entity_id, actor, request_id FROM memory_events WHERE event_type = 'episode_deleted'"
    )
    payload = json.loads(event["payload"])
    assert (event["entity_id"], event["actor"], event["request_id"]) == (episode_id, "jeeves", "r-4")
    assert set(payload.pop("source_of")) == {str(fact_id), str(rule_id)}
    assert payload == {"from": "pending", "reason": "expired"}
    assert await pool.fetchval("SELECT source_episode_id FROM facts WHERE id = $1", fact_id) is None
    # The link still tells where the fact came from, by the id that the event carries.
    assert [link["target_id"] for link in await get_links(pool, "fact", fact_id)] == [episode_id]


async def test_grace_days_keep_expired_episodes_that_are_not_consolidated(pool):
    await fill(pool, 2, status="pending", expires_at=after(1))
    await fill(pool, 2, status="consolidated", expires_at=after(1))
    assert (await run_episode_cleanup(pool, grace_days=3, now=after(2)))["expired_deleted"] == 2
    assert await remaining(pool) == ["pending 1", "pending 2"]
    assert (await run_episode_cleanup(pool, grace_days=3, now=after(4.01)))["remaining"] == 0


async def test_an_episode_without_an_expiry_stays(pool, embedder):
    await store_episode(pool, "for ever", "jeeves", embedder, now=NOW)
    await pool.execute("UPDATE episodes SET expires_at = NULL")
    assert (await run_episode_cleanup(pool, now=after(9999)))["remaining"] == 1


async def test_a_tenants_cleanup_leaves_others_alone_and_the_limit_counts_per_tenant(pool):
    for tenant in ("one", "two"):
        await fill(pool, 4, tenant=tenant)
        await fill(pool, 1, tenant=tenant, status="pending", expires_at=after(-1))
    counts = await run_episode_cleanup(pool, 3, tenant_id="one", now=NOW)
    assert counts == {"expired_deleted": 1, "capacity_deleted": 1, "remaining": 3}
    assert len(await remaining(pool, "two")) == 5
    counts = await run_episode_cleanup(pool, 3, tenant_id=None, now=NOW)
    assert counts == {"expired_deleted": 1, "capacity_deleted": 1, "remaining": 6}
    rows = await pool.fetch("SELECT tenant_id, count(*) FROM memory_events GROUP BY tenant_id")
    assert {row["tenant_id"]: row["count"] for row in rows} == {"one": 2, "two": 2}


async def test_an_episode_that_somebody_holds_is_left_for_the_next_cleanup(pool, embedder):
    episodes = [NewEpisode(f"turn {number}", "jeeves") for number in range(3)]
    held, *_ = await store_episodes(pool, episodes, embedder, now=NOW)
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SELECT FROM episodes WHERE id = $1 FOR UPDATE", held)
        counts = await asyncio.wait_for(run_episode_cleanup(pool, now=after(8)), timeout=30)
        assert counts == {"expired_deleted": 2, "capacity_deleted": 0, "remaining": 1}
    assert (await run_episode_cleanup(pool, now=after(8)))["remaining"] == 0


@pytest.mark.parametrize("value", [-1, True, 1.5, float("inf"), "10", 2**70])
async def test_a_number_to_keep_that_is_no_count_is_refused(pool, value):
    with pytest.raises(InvalidInputError, match=r"max_entries .* is not a whole number from 0 to 1,000,000,000,000"):
        await run_episode_cleanup(pool, value)


@pytest.mark.parametrize("value", [-0.5, True, float("nan"), float("inf"), "1", 1e9])
async def test_a_grace_that_is_no_number_of_days_is_refused(pool, value):
    with pytest.raises(InvalidInputError, match=r"grace_days .* is not a number of days from 0 up to 36,500"):
        await run_episode_cleanup(pool, grace_days=value)
