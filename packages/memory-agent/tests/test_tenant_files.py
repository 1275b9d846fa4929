import gc
import sqlite3
import threading

import pytest
from memory_agent import UnusableFileError
from memory_agent.tenant_files import TenantFiles


@pytest.fixture
def files(memory_file):
    opened = TenantFiles(memory_file)
    yield opened
    opened.close()


async def test_a_tenants_memories_are_kept_and_found(files):
    await files.run("default", lambda manager: manager.save("a", "k", "apple"))
    assert (await files.run("default", lambda manager: manager.recall("a", "k"))).content == "apple"


@pytest.mark.parametrize("tenant", ["other", "../other", "a/b", "default/", "Default", "☂", "."])
async def test_tenants_do_not_see_each_other(files, memory_file, tenant):
    await files.run("default", lambda manager: manager.save("a", "k", "apple"))
    assert await files.run(tenant, lambda manager: manager.recall("a", "k")) is None
    assert files.path_of(tenant).parent == memory_file.parent
    assert files.path_of(tenant) != memory_file


def test_no_two_tenants_share_a_file(files):
    tenants = ["a", "a.b", "a/b", "a%2Fb", "a%2fb", "a b", "A", "default.x", "Default", "É", "é", "e\u0301", "x" * 121]
    tenants.append(files.path_of("x" * 121).name.split(".")[1])
    # Compared without case: that is how the file systems of macOS and Windows compare names.
    assert len({files.path_of(tenant).name.casefold() for tenant in tenants}) == len(tenants)


async def test_a_tenants_name_may_be_longer_than_a_file_name(files):
    await files.run("☂" * 2000, lambda manager: manager.save("a", "k", "apple"))
    assert (await files.run("☂" * 2000, lambda manager: manager.recall("a", "k"))).content == "apple"
    assert await files.run("☂" * 1999, lambda manager: manager.recall("a", "k")) is None


async def test_files_not_used_lately_are_closed_and_opened_again(files, monkeypatch):
    monkeypatch.setattr("memory_agent.tenant_files.MAX_OPEN_FILES", 2)
    first = await files.run("t1", lambda manager: manager)
    for tenant in ("t1", "t2", "t1", "t3"):
        await files.run(tenant, lambda manager: manager.save("a", "k", "apple"))
    assert await files.run("t1", lambda manager: manager) is first
    await files.run("t2", lambda manager: manager.list("a"))
    await files.run("t3", lambda manager: manager.list("a"))
    with pytest.raises(sqlite3.ProgrammingError):
        first.list("a")
    assert (await files.run("t1", lambda manager: manager.recall("a", "k"))).content == "apple"


async def test_the_event_loops_thread_never_waits_for_the_file(files):
    thread = await files.run("default", lambda _manager: threading.current_thread())
    assert thread is not threading.current_thread()


async def test_an_error_reaches_the_caller(memory_file):
    memory_file.write_text("no database " * 20)
    files = TenantFiles(memory_file)
    with pytest.raises(UnusableFileError, match="is not an SQLite file"):
        await files.run("default", lambda manager: manager.list("a"))
    files.close()


async def test_files_are_closed_with_their_owner(memory_file):
    files = TenantFiles(memory_file)
    manager = await files.run("default", lambda manager: manager)
    del files
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError):
        manager.list("a")
