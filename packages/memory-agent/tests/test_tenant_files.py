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
    tenants = ["a", "a.b", "a/b", "a%2Fb", "a b", "A", "default.x"]
    assert len({files.path_of(tenant) for tenant in tenants}) == len(tenants)


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
