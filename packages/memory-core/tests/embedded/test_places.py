"""Where the data and the socket may live, and what is said where they may not."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import platformdirs
import psutil
import pytest
from memory_core.embedded import EmbeddedServer
from memory_core.embedded.layout import Layout, default_data_dir, prepare_data_dir
from memory_core.errors import ServerError

Spawn = Callable[..., Any]


def test_the_data_directory_may_have_any_name(base: Path, spawn: Spawn) -> None:
    name = "/".join(["long, with spaces, 'quotes', größer als ASCII 数据 and a%20b&c=d " + "x" * 60] * 3)
    client = spawn(base / name)
    dsn = client.call("start")
    assert client.call("query", "SELECT current_setting('data_directory')") == str(base / name / "pgdata")
    assert name not in dsn
    client.call("stop")
    assert not EmbeddedServer(base / name).status().running


def test_two_spellings_of_one_directory_are_one_server(data_dir: Path, base: Path) -> None:
    (base / "link").symlink_to(data_dir)
    with EmbeddedServer(data_dir) as server, EmbeddedServer(base / "link") as through_link:
        assert through_link.dsn == server.dsn


def test_the_socket_path_fits_and_is_private(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        status = server.socket_dir.stat()
        # 104 bytes with the closing NUL on macOS, 108 on Linux.
        assert len(os.fsencode(server.socket_dir / ".s.PGSQL.5432")) < 104
        assert stat.S_IMODE(status.st_mode) == 0o700
        assert status.st_uid == (data_dir / "pgdata").stat().st_uid


def test_only_the_owner_can_read_the_data(data_dir: Path) -> None:
    with EmbeddedServer(data_dir):
        assert stat.S_IMODE((data_dir / "pgdata").stat().st_mode) == 0o700
        assert stat.S_IMODE((data_dir / "server.log").stat().st_mode) == 0o600
        assert stat.S_IMODE(data_dir.stat().st_mode) == (0o711 if os.geteuid() == 0 else 0o700)


def test_a_directory_that_holds_other_things_keeps_its_mode(fresh_dir: Path) -> None:
    fresh_dir.mkdir()
    fresh_dir.chmod(0o755)
    (fresh_dir / "letters.txt").write_text("mine")
    prepare_data_dir(Layout.at(fresh_dir))
    assert stat.S_IMODE(fresh_dir.stat().st_mode) == 0o755


def test_a_data_directory_removed_under_the_server_does_not_trouble_the_exit(
    base: Path, spawn: Spawn, eventually: Callable[[Callable[[], bool]], None]
) -> None:
    client = spawn(base / "data")
    client.call("start")
    postmaster, socket_dir = psutil.Process(client.call("pid")), Layout.at(base / "data").socket_dir
    shutil.rmtree(base / "data")
    client.call("stop")
    eventually(lambda: not postmaster.is_running() or postmaster.status() == psutil.STATUS_ZOMBIE)
    shutil.rmtree(socket_dir)


@pytest.fixture
def made(data_dir: Path) -> Iterator[Layout]:
    """A stopped server's layout; a socket directory that a test puts there is removed."""
    with EmbeddedServer(data_dir):
        pass
    layout = Layout.at(data_dir)
    yield layout
    if layout.socket_dir.is_symlink():
        layout.socket_dir.unlink()
    elif layout.socket_dir.exists():
        layout.socket_dir.rmdir()


def test_a_link_in_place_of_the_socket_directory_is_not_followed(made: Layout, base: Path) -> None:
    made.socket_dir.symlink_to(base)
    with pytest.raises(ServerError, match="a link there is not followed"):
        EmbeddedServer(made.data_dir).start()
    assert list(base.iterdir()) == []


def test_a_socket_directory_of_another_user_is_refused(made: Layout) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make a directory that belongs to somebody else")
    made.socket_dir.mkdir(mode=0o700)
    with pytest.raises(ServerError, match="belongs to root, not to nobody"):
        EmbeddedServer(made.data_dir).start()


def test_a_socket_directory_open_to_others_is_refused(made: Layout) -> None:
    made.socket_dir.mkdir()
    made.socket_dir.chmod(0o777)
    owner = made.pgdata.stat()
    os.chown(made.socket_dir, owner.st_uid, owner.st_gid)
    with pytest.raises(ServerError, match=f"chmod 700 {made.socket_dir}"):
        EmbeddedServer(made.data_dir).start()


def test_a_cluster_of_another_major_version_is_refused_and_untouched(made: Layout) -> None:
    version = made.pgdata / "PG_VERSION"
    ours = version.read_text()
    version.write_text("17\n")
    before = {path: path.stat().st_mtime_ns for path in made.pgdata.rglob("*")}
    with pytest.raises(ServerError, match=r"made by PostgreSQL 17, and the installed server is PostgreSQL 18\."):
        EmbeddedServer(made.data_dir).start()
    assert {path: path.stat().st_mtime_ns for path in made.pgdata.rglob("*")} == before
    version.write_text(ours)


def test_somebody_elses_cluster_is_not_taken_for_a_data_directory(made: Layout) -> None:
    with pytest.raises(ServerError, match="is itself a PostgreSQL data directory"):
        EmbeddedServer(made.pgdata).start()


def test_a_file_in_place_of_the_data_directory_is_named(base: Path) -> None:
    (base / "file").write_text("")
    with pytest.raises(ServerError, match=f"{base}/file.*MEMORY_DATA_DIR"):
        EmbeddedServer(base / "file").start()


def test_a_data_directory_that_cannot_be_written_is_named(base: Path, spawn: Spawn, nobody: Any) -> None:
    with pytest.raises(RuntimeError, match=f"ServerError.*Permission denied at {base}/data.*must be writable"):
        spawn(base / "data", nobody).call("start")


def test_a_cluster_that_another_program_runs_is_left_to_it(made: Layout, base: Path) -> None:
    from memory_core.embedded.accounts import server_account
    from memory_core.embedded.binaries import binaries_for

    account = server_account(made)
    account.adopt(base)
    program = binaries_for(account, made).program("pg_ctl")

    def pg_ctl(*arguments: str) -> None:
        command = [str(program), "-D", str(made.pgdata), "-l", str(base / "log"), "-w", *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", **account.identity())

    pg_ctl("-o", f"-k {base} -c listen_addresses=''", "start")
    try:
        with pytest.raises(ServerError, match="started by other means"):
            EmbeddedServer(made.data_dir).start()
    finally:
        pg_ctl("stop")


def test_the_default_place_follows_the_variable_then_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_DATA_DIR", "/somewhere/else")
    assert default_data_dir() == Path("/somewhere/else")
    monkeypatch.delenv("MEMORY_DATA_DIR")
    own = Path(platformdirs.user_data_dir("butler-memory", appauthor=False))
    assert default_data_dir() == (Path("/var/lib/butler-memory") if os.geteuid() == 0 else own)


def test_on_windows_the_message_says_to_bring_a_dsn() -> None:
    script = (
        "import sys, memory_core.errors, memory_core.embedded.status as status\n"
        "for name in [n for n in sys.modules if n.startswith('memory_core.embedded')]: del sys.modules[name]\n"
        "sys.platform = 'win32'\n"
        "from memory_core.embedded import EmbeddedServer\n"
        "try: EmbeddedServer()\n"
        "except memory_core.errors.ServerError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "set MEMORY_DSN" in done.stdout
