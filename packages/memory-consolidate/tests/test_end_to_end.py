"""Two hundred episodes of three butlers and two tenants, told as a diary, and what must be known at its end."""

import asyncio
from collections import Counter
from datetime import timedelta

import asyncpg
from memory_consolidate import run_consolidation
from memory_core import NewEpisode, get_links, store_episodes
from memory_core.config import ConsolidationConfig

BUTLERS = ("home", "work", "yard")
TENANTS = ("acme", "bolt")
SETTINGS = ConsolidationConfig(batch_size=7)


def diary(tenant, butler):
    """Facts, confirmations, an update, a contradiction and rules, one of them taught twice, among small talk."""
    told = []
    for n in range(4):
        told += [f"FACT {butler}{n} | colour | blue of {tenant}", f"small talk {n}"]
    told += ["the weather is fine"] * 6
    told += [f"CONFIRM {butler}0 | colour", f"CONFIRM {butler}1 | colour"]
    told += [f"UPDATE {butler}1 | colour | red of {tenant}", f"FACT {butler}2 | colour | green of {tenant}"]
    told += [f"RULE {butler} of {tenant}: ask before {thing}." for thing in ("calling", "buying", "calling")]
    return told + ["the weather is bad"] * (14 if (tenant, butler) == ("bolt", "yard") else 12)


async def tell_diaries(pool, embedder, now):
    ids = {}
    for tenant in TENANTS:
        episodes = [
            NewEpisode(text, butler, created_at=now - timedelta(hours=5) + timedelta(minutes=minute))
            for butler in BUTLERS
            for minute, text in enumerate(diary(tenant, butler))
        ]
        stored = await store_episodes(pool, episodes, embedder, tenant_id=tenant, now=now)
        ids |= {id_: (tenant, episode.butler, episode.content) for id_, episode in zip(stored, episodes, strict=True)}
    return ids


def told_by(episodes, tenant, butler, *texts):
    return {id_ for id_, told in episodes.items() if told[:2] == (tenant, butler) and told[2] in texts}


async def evidence(pool, tenant, kind, memory_id):
    links = await get_links(pool, kind, memory_id, tenant_id=tenant)
    derived = {link["target_id"] for link in links if link["relation"] == "derived_from"}
    supported = {link["source_id"] for link in links if link["relation"] == "supports"}
    return derived, supported


async def check_tenant(pool, episodes, tenant):
    facts = await pool.fetch("SELECT * FROM facts WHERE tenant_id = $1", tenant)
    active = {(fact["subject"], fact["content"]): fact for fact in facts if fact["validity"] == "active"}
    assert len(active) == 12
    assert Counter(fact["validity"] for fact in facts) == {"active": 12, "superseded": 6}
    for butler in BUTLERS:
        expected = {
            f"{butler}0": ("blue", f"FACT {butler}0 | colour | blue of {tenant}"),
            f"{butler}1": ("red", f"UPDATE {butler}1 | colour | red of {tenant}"),
            f"{butler}2": ("green", f"FACT {butler}2 | colour | green of {tenant}"),
            f"{butler}3": ("blue", f"FACT {butler}3 | colour | blue of {tenant}"),
        }
        for subject, (colour, said) in expected.items():
            fact = active[subject, f"{colour} of {tenant}"]
            derived, supported = await evidence(pool, tenant, "fact", fact["id"])
            assert derived == told_by(episodes, tenant, butler, said)
            assert fact["source_butler"] == butler
            if subject == f"{butler}0":
                assert supported == told_by(episodes, tenant, butler, f"CONFIRM {subject} | colour")
            if colour != "blue":
                [old] = [fact_ for fact_ in facts if fact_["id"] == fact["supersedes_id"]]
                assert old["content"] == f"blue of {tenant}"
        rules = await pool.fetch(
            "SELECT id, content FROM rules WHERE source_butler = $1 AND tenant_id = $2", butler, tenant
        )
        assert {rule["content"] for rule in rules} == {
            f"{butler} of {tenant}: ask before {t}." for t in ("calling", "buying")
        }
        assert len(rules) == 2
        for rule in rules:
            derived, _ = await evidence(pool, tenant, "rule", rule["id"])
            assert derived == told_by(episodes, tenant, butler, f"RULE {rule['content']}")


async def test_two_hundred_episodes_become_what_they_tell_and_nothing_else(pool, embedder, scripted, rows, now):
    episodes = await tell_diaries(pool, embedder, now)
    assert len(episodes) == 200
    for tenant in TENANTS:
        model = scripted()
        report = await run_consolidation(pool, embedder, model, settings=SETTINGS, tenant_id=tenant, now=now)
        counts = report.counts()
        assert counts["facts_created"] == 12
        assert counts["facts_updated"] == 6
        assert counts["rules_created"] == 6
        # Two confirmations a butler, and the rule that was taught twice.
        assert counts["confirmations"] == 9
        assert counts["errors"] == 0
        assert all(told[0] == tenant for id_, told in episodes.items() if any(str(id_) in p for p in model.prompts))
    for tenant in TENANTS:
        await check_tenant(pool, episodes, tenant)
    assert await rows("SELECT DISTINCT consolidation_status FROM episodes") == [("consolidated",)]
    assert await rows("SELECT count(*) FROM episodes") == [(len(episodes),)]


class Patient:
    """Thinks about its first question until the other run has one too, so that both are certain to be under way."""

    def __init__(self, model, both_asked):
        self.model = model
        self.both_asked = both_asked

    async def trigger(self, **asked):
        if not self.model.prompts:
            async with asyncio.timeout(20):
                await self.both_asked.wait()
        return await self.model.trigger(**asked)


async def test_two_pipelines_at_once_share_the_work_and_do_none_of_it_twice(
    dsn, pool, embedder, scripted, episodes_in, rows, now
):
    episodes = await tell_diaries(pool, embedder, now)
    for tenant in TENANTS:
        barrier, models = asyncio.Barrier(2), [scripted(), scripted()]

        async def run(model, barrier=barrier, tenant=tenant):
            other_process = await asyncpg.create_pool(dsn, min_size=1, max_size=4)
            async with other_process:
                return await run_consolidation(
                    other_process, embedder, Patient(model, barrier), settings=SETTINGS, tenant_id=tenant, now=now
                )

        reports = await asyncio.gather(*(run(model) for model in models))
        asked = Counter(id_ for model in models for prompt in model.prompts for id_, _ in episodes_in(prompt))
        assert set(asked.values()) == {1}
        assert len(asked) == sum(told[0] == tenant for told in episodes.values())
        assert all(report.batches for report in reports)
        assert sum(report.counts()["episodes_consolidated"] for report in reports) == len(asked)
        assert [report.errors for report in reports] == [[], []]
        await check_tenant(pool, episodes, tenant)
    assert await rows("SELECT DISTINCT consolidation_status FROM episodes") == [("consolidated",)]
