"""Many processes, one server: it starts once, and the last one out stops it, however the others ended."""

import os
import pwd
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from memory_core.embedded import EmbeddedServer
from memory_core.embedded.layout import Layout
from memory_core.embedded.locks import FileLock

Spawn = Callable[..., Any]
Eventually = Callable[[Callable[[], bool]], None]
Account = pwd.struct_passwd | None
CROWD = 6
ROUNDS = 3


def together(clients: list[Any], *command: Any) -> list[Any]:
    for client in clients:
        client.send(*command)
    return [client.result() for client in clients]


def said(clients: list[Any], words: str) -> int:
    return sum(message.startswith(words) for client in clients for message in client.call("said"))


def test_processes_that_start_together_make_and_start_one_server(fresh_dir: Path, spawn: Spawn) -> None:
    clients = [spawn(fresh_dir) for _ in range(CROWD)]
    for finished in range(1, ROUNDS + 1):
        together(clients, "start")
        assert len(set(together(clients, "pid"))) == 1
        assert together(clients, "query", "SELECT 1") == [1] * CROWD
        together(clients, "stop")
        assert not EmbeddedServer(fresh_dir).status().running
        assert said(clients, "made a new cluster") == 1
        assert said(clients, "started the server") == finished
        assert said(clients, "stopped the server") == finished


def test_an_ordinary_users_processes_make_and_start_one_server(
    account: Account, account_dir: Path, spawn: Spawn
) -> None:
    clients = [spawn(account_dir, account) for _ in range(CROWD)]
    together(clients, "start")
    assert said(clients, "started the server") == 1
    together(clients, "stop")
    assert said(clients, "stopped the server") == 1


def test_processes_that_come_and_go_at_will_always_find_a_server(data_dir: Path, spawn: Spawn) -> None:
    clients = [spawn(data_dir) for _ in range(CROWD)]
    assert together(clients, "start_and_stop", 10) == [10] * CROWD
    assert said(clients, "started the server") == said(clients, "stopped the server") >= 1
    assert not EmbeddedServer(data_dir).status().running


def test_who_starts_or_stops_waits_while_somebody_else_decides_and_says_so_in_the_end(
    data_dir: Path, spawn: Spawn
) -> None:
    holder, other = spawn(data_dir), spawn(data_dir)
    holder.call("start")
    decision = FileLock(Layout.at(data_dir).decision_lock)
    assert decision.try_exclusive()
    for client, name in ((other, "start"), (holder, "stop")):
        client.call("give_up_on_decision_after", 0.05)
        with pytest.raises(RuntimeError, match=r"ServerError.*decision\.lock has been locked for"):
            client.call(name)
    assert holder.call("query", "SELECT 1") == 1
    decision.release()
    holder.call("stop")
    assert not EmbeddedServer(data_dir).status().running


def test_the_first_to_leave_does_not_stop_the_server(data_dir: Path, spawn: Spawn) -> None:
    first, second = spawn(data_dir), spawn(data_dir)
    together([first, second], "start")
    first.call("stop")
    assert second.call("query", "SELECT 1") == 1


def test_a_client_that_ends_without_stop_stops_the_server(data_dir: Path, spawn: Spawn) -> None:
    client = spawn(data_dir)
    client.call("start")
    client.close()
    assert not EmbeddedServer(data_dir).status().running


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_client_leaves_a_server_that_the_next_one_joins_and_stops(
    data_dir: Path, spawn: Spawn, number: int
) -> None:
    killed, survivor = spawn(data_dir), spawn(data_dir)
    killed.call("start")
    postmaster = killed.call("pid")
    killed.kill(number)
    assert EmbeddedServer(data_dir).status().running
    survivor.call("start")
    assert survivor.call("pid") == postmaster
    survivor.call("stop")
    assert not EmbeddedServer(data_dir).status().running


def test_ctrl_c_in_one_clients_terminal_leaves_the_server_to_the_others(data_dir: Path, spawn: Spawn) -> None:
    interrupted, other = spawn(data_dir), spawn(data_dir)
    interrupted.call("start")
    other.call("start")
    other.call("hold_connection")
    os.killpg(interrupted.process.pid, signal.SIGINT)
    assert interrupted.process.wait(30) != 0
    assert other.call("query_held", "SELECT 1") == 1


def test_the_server_is_in_a_session_of_its_own_and_nobodys_zombie_to_be(data_dir: Path, spawn: Spawn) -> None:
    client = spawn(data_dir)
    client.call("start")
    postmaster = client.call("pid")
    assert os.getsid(postmaster) != os.getsid(client.process.pid)
    assert os.getpgid(postmaster) != os.getpgid(client.process.pid)


def test_ctrl_c_while_waiting_for_the_start_leaves_no_lock_behind(
    fresh_dir: Path, spawn: Spawn, eventually: Eventually
) -> None:
    interrupted, other = spawn(fresh_dir), spawn(fresh_dir)
    other.call("said")
    interrupted.send("start")
    eventually(lambda: any(fresh_dir.glob("pgdata.unfinished-*/PG_VERSION")) or (fresh_dir / "pgdata").exists())
    os.killpg(interrupted.process.pid, signal.SIGINT)
    interrupted.process.wait(30)
    other.call("start")
    assert other.call("query", "SELECT 1") == 1


def test_the_server_inherits_its_lease_and_log_and_no_other_file(data_dir: Path, base: Path, spawn: Spawn) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("open files of another process are listed in /proc, which this system does not have")
    client = spawn(data_dir)
    client.call("open_inheritable", str(base / "inheritable"))
    client.call("start")
    opened = {path.resolve() for path in Path(f"/proc/{client.call('pid')}/fd").iterdir()}
    in_the_open = {path.name for path in opened if path.parent in (data_dir, base)}
    assert in_the_open == {"server.lock", "server.log"}
    assert not any(path.name.startswith("pipe:") and path in _pipes_of(client) for path in opened)


def _pipes_of(client: Any) -> set[Path]:
    return {path.resolve() for path in Path(f"/proc/{client.process.pid}/fd").iterdir()}


def test_a_forked_child_that_stops_does_not_take_the_server_from_its_parent(data_dir: Path, spawn: Spawn) -> None:
    parent, last = spawn(data_dir), spawn(data_dir)
    parent.call("start")
    assert parent.call("fork_child_that_stops") == 0
    last.call("start")
    last.call("stop")
    assert parent.call("query", "SELECT 1") == 1


@pytest.mark.parametrize("through", ["python", "native code"])
def test_a_forked_child_that_lives_on_does_not_keep_its_parents_hold(
    data_dir: Path, spawn: Spawn, through: str
) -> None:
    parent = spawn(data_dir)
    parent.call("start")
    child = parent.call("fork_child_that_stays", through)
    parent.call("stop")
    running = EmbeddedServer(data_dir).status().running
    os.kill(child, signal.SIGKILL)
    assert not running


def test_a_child_forked_while_a_lease_is_taken_does_not_share_it(data_dir: Path, base: Path, spawn: Spawn) -> None:
    child = spawn(data_dir).call("fork_child_while_locking", str(base / "lease"))
    free = FileLock(base / "lease").try_exclusive()
    os.kill(child, signal.SIGKILL)
    assert free
