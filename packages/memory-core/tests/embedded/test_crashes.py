"""kill -9 at every point: nothing stays stuck, and nothing that was acknowledged is lost."""

import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from memory_core.embedded import EmbeddedServer
from memory_core.embedded.accounts import server_account
from memory_core.embedded.layout import Layout

Spawn = Callable[..., Any]
Eventually = Callable[[Callable[[], bool]], None]
Account = pwd.struct_passwd | None


def kill_tree(postmaster: int) -> None:
    tree = [psutil.Process(postmaster), *psutil.Process(postmaster).children(recursive=True)]
    # Stopped first, so that no process of it can react to the death of another.
    for process in tree:
        process.send_signal(signal.SIGSTOP)
    for process in tree:
        process.kill()
    for process in tree:
        wait_until_dead(process)


def kill_postmaster(postmaster: int) -> None:
    process = psutil.Process(postmaster)
    process.kill()
    wait_until_dead(process)


def wait_until_dead(process: psutil.Process) -> None:
    """A killed process still listens until the kernel has taken it apart; it need not be reaped for that."""
    deadline = time.monotonic() + 30
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize("kill", [kill_postmaster, kill_tree])
def test_a_killed_server_is_started_again(
    account: Account, account_dir: Path, spawn: Spawn, kill: Callable[[int], None]
) -> None:
    client = spawn(account_dir, account)
    client.call("start")
    killed = client.call("pid")
    kill(killed)
    client.call("start")
    assert client.call("query", "SELECT 1") == 1
    assert client.call("pid") != killed


def test_a_client_whose_server_was_killed_can_still_stop(data_dir: Path, spawn: Spawn) -> None:
    client = spawn(data_dir)
    client.call("start")
    kill_tree(client.call("pid"))
    client.call("stop")
    # Once more, so that the killed server's shared memory is cleared away.
    client.call("start")


@pytest.mark.parametrize("kill", [kill_postmaster, kill_tree])
def test_every_row_acknowledged_before_the_server_was_killed_is_there_afterwards(
    data_dir: Path, spawn: Spawn, kill: Callable[[int], None]
) -> None:
    writer, reader = spawn(data_dir), spawn(data_dir)
    writer.call("start")
    reader.call("start")
    for rows in (50, 200, 350):
        writer.send("write_rows")
        acknowledged = [writer.receive() for _ in range(rows)]
        kill(reader.call("pid"))
        while isinstance(answer := writer.receive(), int):
            acknowledged.append(answer)
        reader.call("start")
        found = reader.call("query", f"SELECT count(*) FROM acknowledged WHERE id = ANY(ARRAY{acknowledged})")
        assert found == len(acknowledged) >= rows
    writer.call("stop")


def test_durability_is_on_unless_a_caller_turns_it_off(data_dir: Path, spawn: Spawn) -> None:
    client = spawn(data_dir)
    client.call("start")
    settings = "current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit')"
    assert client.call("query", f"SELECT concat_ws(' ', {settings})") == "on on on"


@contextmanager
def bystander(account_dir: Path, *, zombie: bool = False) -> Iterator[int]:
    """A process of the server's account that has nothing to do with the server; PostgreSQL heeds only such ones."""
    identity = server_account(Layout.at(account_dir)).identity()
    command = ["/bin/sh", "-c", "exit 0" if zombie else "exec cat"]
    with subprocess.Popen(command, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, **identity) as process:
        yield process.pid
        if not zombie:
            # An echo proves it: a signal that was sent before would have ended it before it could answer.
            answer, _ = process.communicate(b"unharmed")
            assert answer == b"unharmed"
            assert process.returncode == 0


def leave_stale_files(data_dir: Path, pid: int) -> None:
    """Put what a killed server leaves behind, with a pid that meanwhile belongs to somebody else."""
    layout = Layout.at(data_dir)
    layout.socket_dir.mkdir(mode=0o700)
    owner = layout.pgdata.stat()
    content = f"{pid}\n{layout.pgdata}\n1700000000\n5432\n{layout.socket_dir}\n\n\nready   \n"
    socket = layout.socket_dir / ".s.PGSQL.5432"
    for path in (layout.pgdata / "postmaster.pid", socket.with_name(socket.name + ".lock"), socket):
        path.write_text(content)
        path.chmod(0o600)
        os.chown(path, owner.st_uid, owner.st_gid)
    os.chown(layout.socket_dir, owner.st_uid, owner.st_gid)


@pytest.mark.parametrize("zombie", [False, True], ids=["a live process", "a zombie"])
def test_stale_files_with_a_pid_that_is_somebody_elses_now_do_not_block_the_start(
    account: Account, account_dir: Path, spawn: Spawn, zombie: bool
) -> None:
    client = spawn(account_dir, account)
    client.call("start")
    client.call("stop")
    with bystander(account_dir, zombie=zombie) as pid:
        leave_stale_files(account_dir, pid)
        assert not EmbeddedServer(account_dir).status().running
        client.call("start")
        assert client.call("query", "SELECT 1") == 1
        client.call("stop")


def test_a_reused_pid_is_not_signalled_when_the_server_was_killed(data_dir: Path, spawn: Spawn) -> None:
    client = spawn(data_dir)
    client.call("start")
    kill_tree(client.call("pid"))
    with bystander(data_dir) as pid:
        pid_file = data_dir / "pgdata" / "postmaster.pid"
        lines = pid_file.read_text().splitlines(keepends=True)
        pid_file.write_text(f"{pid}\n" + "".join(lines[1:]))
        client.call("stop")
    client.call("start")


def test_a_server_that_its_adopter_never_reaps_is_started_again(data_dir: Path, spawn: Spawn) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux lets a process adopt orphans and so keep the server as a zombie")
    client = spawn(data_dir)
    client.call("adopt_orphans")
    client.call("start")
    killed = client.call("pid")
    kill_tree(killed)
    assert psutil.Process(killed).status() == psutil.STATUS_ZOMBIE
    client.call("start")
    assert client.call("query", "SELECT 1") == 1


def test_a_stopped_server_that_its_adopter_never_reaps_counts_as_stopped(data_dir: Path, spawn: Spawn) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux lets a process adopt orphans and so keep the server as a zombie")
    client = spawn(data_dir)
    client.call("adopt_orphans")
    client.call("start")
    postmaster = client.call("pid")
    client.call("stop")
    assert psutil.Process(postmaster).status() == psutil.STATUS_ZOMBIE
    assert not EmbeddedServer(data_dir).status().running


def test_a_backend_that_outlives_its_killed_postmaster_keeps_the_next_server_away(data_dir: Path, spawn: Spawn) -> None:
    client, next_one = spawn(data_dir), spawn(data_dir)
    client.call("start")
    postmaster, backend = client.call("pid"), client.call("hold_connection")
    os.kill(backend, signal.SIGSTOP)
    kill_postmaster(postmaster)
    next_one.call("give_up_on_orphans_after", 0.1)
    with pytest.raises(RuntimeError, match=rf"ServerError.*postmaster \(pid {postmaster}\) was killed"):
        next_one.call("start")
    os.kill(backend, signal.SIGCONT)
    next_one.call("give_up_on_orphans_after", 30)
    next_one.call("start")
    assert next_one.call("query", "SELECT 1") == 1


def test_impatience_with_orphans_does_not_hit_a_server_that_is_just_starting(data_dir: Path, spawn: Spawn) -> None:
    client = spawn(data_dir)
    client.call("give_up_on_orphans_after", 0)
    assert client.call("start_and_stop", 5) == 5


def test_a_client_killed_in_the_middle_of_making_a_cluster_leaves_nothing_half_made(
    fresh_dir: Path, spawn: Spawn, eventually: Eventually
) -> None:
    killed, next_one = spawn(fresh_dir), spawn(fresh_dir)
    killed.send("start")
    eventually(lambda: any(fresh_dir.glob("pgdata.unfinished-*/PG_VERSION")))
    killed.kill()
    assert not (fresh_dir / "pgdata").exists()
    next_one.call("start")
    assert next_one.call("query", "SELECT count(*) FROM pg_database WHERE datname = 'memory'") == 1
    assert not list(fresh_dir.glob("pgdata.unfinished-*"))


def test_a_start_that_dies_of_a_full_disk_says_so_and_leaves_nothing(fresh_dir: Path, spawn: Spawn) -> None:
    limited, next_one = spawn(fresh_dir), spawn(fresh_dir)
    limited.call("limit_file_size", 100_000)
    with pytest.raises(RuntimeError, match=rf"ServerError: initdb failed in {fresh_dir}.*disk"):
        limited.call("start")
    assert not list(fresh_dir.glob("pgdata*"))
    next_one.call("start")
    assert next_one.call("query", "SELECT 1") == 1
