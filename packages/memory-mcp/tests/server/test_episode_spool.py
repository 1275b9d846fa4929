"""The spool's files: written before the answer, replayed once."""

from dataclasses import replace
from uuid import uuid4

import pytest
from memory_core import Memory, MemoryModuleConfig
from memory_core.plugins import Plugins
from memory_mcp.episode_keeping import EpisodeKeeper
from memory_mcp.episode_spool import BATCH, EpisodeSpool, WaitingEpisode, read_episodes
from memory_mcp.state_files import episode_spool
from memory_mcp.tool_errors import NotReadyError, SpoolFullError


def episode(content: str = "tea", **changes) -> WaitingEpisode:
    made = WaitingEpisode(
        episode_id=str(uuid4()),
        tenant_id="default",
        content=content,
        butler="jeeves",
        session_id=None,
        importance=5.0,
        ttl_days=7.0,
        created_at="2026-03-01T12:00:00+00:00",
        request_context=None,
    )
    return replace(made, **changes)


@pytest.fixture
def spool(tmp_path):
    return EpisodeSpool(tmp_path / "spool", 100_000)


@pytest.fixture
def memory(pool, embedder):
    return Memory(pool, embedder, MemoryModuleConfig(), Plugins(), {})


class Away:
    """A runtime that is not there."""

    async def memory(self):
        raise NotReadyError("away")

    def suspect(self):
        pass


@pytest.fixture
def keeper(spool):
    return EpisodeKeeper(Away(), MemoryModuleConfig(), spool)


async def stored(pool) -> list[str]:
    return [row["content"] for row in await pool.fetch("SELECT content FROM episodes ORDER BY created_at, content")]


def test_an_appended_episode_is_in_a_private_file_as_it_was(spool):
    waiting = episode("tea\nwith milk é", session_id=str(uuid4()), request_context={"request_id": "r"})
    spool.append(waiting)
    [file] = spool.files()
    assert read_episodes(file) == [waiting]
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


async def test_replayed_episodes_keep_their_time_tenant_and_request(spool, memory, keeper, pool):
    spool.append(episode("one", tenant_id="acme", request_context={"request_id": "r-1"}))
    spool.append(episode("two", tenant_id="globex"))
    await keeper.replay(memory)
    rows = await pool.fetch("SELECT content, tenant_id, created_at::date::text AS day FROM episodes ORDER BY content")
    assert [tuple(row) for row in rows] == [("one", "acme", "2026-03-01"), ("two", "globex", "2026-03-01")]
    assert await pool.fetchval("SELECT request_id FROM memory_events WHERE tenant_id = 'acme'") == "r-1"
    assert spool.files() == []


async def test_a_replay_that_dies_before_its_file_is_removed_is_repeated_without_copies(spool, memory, keeper, pool):
    for number in range(BATCH + 5):
        spool.append(episode(f"{number:03}"))

    class KilledError(Exception):
        pass

    real_pool, calls = memory.pool, []

    async def store_then_die(batch):
        from memory_mcp.episode_keeping import _store

        await _store(replace(memory, pool=real_pool), batch)
        calls.append(len(batch))
        raise KilledError

    with pytest.raises(KilledError):
        await spool.replay(store_then_die)
    assert calls == [BATCH]
    assert len(await stored(pool)) == BATCH
    await keeper.replay(memory)
    assert await stored(pool) == [f"{number:03}" for number in range(BATCH + 5)]
    assert await pool.fetchval("SELECT count(*) FROM memory_events") == BATCH + 5
    assert spool.files() == []


async def test_an_episode_stored_before_the_connection_broke_is_not_stored_twice(spool, memory, keeper, pool):
    # The commit arrived, its answer did not: the same id goes to the spool.
    from memory_mcp.episode_keeping import _store

    waiting = episode()
    await _store(memory, [waiting])
    spool.append(waiting)
    await keeper.replay(memory)
    assert await stored(pool) == ["tea"]


async def test_a_file_that_another_process_appends_to_is_left_alone(spool, tmp_path, memory, keeper, pool):
    other = EpisodeSpool(tmp_path / "spool", 100_000)
    other.append(episode("theirs"))
    spool.append(episode("ours"))
    await keeper.replay(memory)
    assert await stored(pool) == ["ours"]
    other.release()
    await keeper.replay(memory)
    assert await stored(pool) == ["ours", "theirs"]


async def test_what_is_refused_for_good_is_dropped_alone_and_logged(spool, memory, keeper, pool, caplog):
    bad = episode("bad", butler=" ")
    for waiting in (episode("one"), bad, episode("two")):
        spool.append(waiting)
    await keeper.replay(memory)
    assert await stored(pool) == ["one", "two"]
    assert f"the spooled episode {bad.episode_id} is refused for good" in caplog.text
    assert spool.files() == []


async def test_trouble_during_a_replay_is_logged_and_the_episodes_stay(spool, memory, keeper, pool, caplog):
    spool.append(episode())
    await pool.execute("ALTER TABLE episodes RENAME TO gone")
    await keeper.replay(memory)
    assert "waiting episodes could not be stored" in caplog.text
    assert len(spool.files()) == 1
    await pool.execute("ALTER TABLE gone RENAME TO episodes")
    await keeper.replay(memory)
    assert await stored(pool) == ["tea"]


def test_no_more_than_its_size_waits_over_all_files(spool, tmp_path):
    small = EpisodeSpool(tmp_path / "spool", 500)
    spool.append(episode("x" * 300))
    with pytest.raises(SpoolFullError, match="no more than 500 bytes of episodes may wait"):
        small.append(episode())


def test_a_directory_that_cannot_be_made_is_told_as_such(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SpoolFullError, match="could not be kept either"):
        EpisodeSpool(tmp_path / "file" / "spool", 1000).append(episode())


def test_each_database_has_a_spool_of_its_own_whatever_its_password(tmp_path):
    config = MemoryModuleConfig.model_validate({"spool": {"directory": str(tmp_path)}})

    def place(**where):
        return episode_spool(config, **where)._directory

    first = place(dsn="postgresql://jeeves:old@db/memory")
    assert first == place(dsn="postgresql://jeeves:new@db/memory")
    assert first != place(dsn="postgresql://jeeves:old@db/other")
    assert place(data_dir=tmp_path / "a") != place(data_dir=tmp_path / "b")
    other_schema = MemoryModuleConfig.model_validate({"spool": {"directory": str(tmp_path)}, "schema": "butler"})
    assert episode_spool(other_schema, dsn="postgresql://jeeves:old@db/memory")._directory != first


def test_a_spool_of_no_size_is_no_spool():
    assert episode_spool(MemoryModuleConfig.model_validate({"spool": {"max_bytes": 0}})) is None


async def test_a_file_that_cannot_be_read_is_set_aside_and_the_others_are_replayed(spool, memory, keeper, pool, caplog):
    spool.append(episode("lost"))
    spool.release()
    [spoilt] = spool.files()
    spoilt.write_bytes(b'{"episode_id": 1\n')
    spool.append(episode("kept"))
    await keeper.replay(memory)
    assert await stored(pool) == ["kept"]
    assert "cannot be read and is set aside" in caplog.text
    assert [path.suffix for path in spoilt.parent.iterdir()] == [".unreadable"]


def test_files_that_others_take_before_they_are_locked_are_given_up(spool, tmp_path, monkeypatch):
    from memory_mcp import episode_spool as module

    taken = []

    def lock_late(file):
        # Another process finds the empty file first, replays nothing and removes it.
        if not taken:
            [path] = (tmp_path / "spool").iterdir()
            taken.append(path)
            path.unlink()
        return True

    monkeypatch.setattr(module, "lock_file", lock_late)
    spool.append(episode())
    [file] = spool.files()
    assert file not in taken
    assert len(read_episodes(file)) == 1
