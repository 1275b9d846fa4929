"""What docs/hosting.md says: its roles suffice, a transaction pooler may stand between, its program runs."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
from memory_core.config_sources import parse_config

from tests.markdown_blocks import ROOT, blocks

PAGE = ROOT / "docs" / "hosting.md"

# What a process does day by day.
DAILY = (
    ("store", "fact", "user", "city", "The user lives in Porto."),
    ("store", "episode", "The user asked for tea.", "--butler", "jeeves"),
    ("search", "Which town?"),
    ("recall", "home"),
    ("sweep",),
    ("cleanup",),
    ("consolidate",),
    ("worker", "run", "decay_sweep"),
    ("purge", "tenant", "default", "--yes"),
    ("doctor",),
)


async def execute(dsn: str, script: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(script)
    await connection.close()


async def test_the_roles_of_the_page_can_do_their_work_and_no_more(run_memory, empty_dsn):
    in_cluster, in_database, as_owner = (block.code for block in blocks(PAGE, "sql"))
    owner, app = (("--dsn", f"{empty_dsn}&role={role}") for role in ("memory_owner", "memory_app"))
    database = urlsplit(empty_dsn).path.removeprefix("/")
    make_database = "CREATE DATABASE memory OWNER memory_owner"
    await execute(empty_dsn, in_cluster.replace(make_database, f"ALTER DATABASE {database} OWNER TO memory_owner"))
    try:
        await execute(empty_dsn, in_database)
        assert run_memory(*owner, "migrate").exit_code == 0
        await execute(owner[1], as_owner)
        for arguments in DAILY:
            done = run_memory(*app, *arguments)
            assert done.exit_code == 0, (arguments, done.stderr)
        refused = run_memory(*app, "migrate", "--to", "base", "--yes")
        assert (refused.exit_code, refused.stderr.splitlines()[-1][:7]) == (1, "Error: ")

        assert run_memory(*owner, "--schema", "jeeves", "migrate").exit_code == 0
        refused = run_memory(*app, "--schema", "jeeves", "stats")
        assert "the database role may not use the schema 'jeeves'" in refused.stderr, "and not those of another schema"
        examined = run_memory(*app, "--schema", "jeeves", "doctor")
        assert (examined.exit_code, "may not use the schema 'jeeves'" in examined.stdout) == (1, True)
        await execute(owner[1], "SET search_path TO jeeves;" + as_owner.replace("public", "jeeves"))
        assert run_memory(*app, "--schema", "jeeves", "stats").exit_code == 0
    finally:
        await execute(empty_dsn, "DROP OWNED BY memory_app, memory_owner CASCADE")
        await execute(empty_dsn, f"ALTER DATABASE {database} OWNER TO CURRENT_USER")
        await execute(empty_dsn, "DROP ROLE memory_app; DROP ROLE memory_owner")


@pytest.fixture
def pooled_dsn(empty_dsn) -> Iterator[str]:
    """A PgBouncer in transaction mode before an empty database."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("PgBouncer is not installed here")
    parts = urlsplit(empty_dsn)
    # Short, because it holds a socket; open, because for root the pooler runs as another user.
    directory = Path(tempfile.mkdtemp(prefix="pgb-"))
    directory.chmod(0o777)
    socket_file = directory / ".s.PGSQL.6432"
    settings = directory / "pgbouncer.ini"
    settings.write_text(
        f"[databases]\n* = host={parse_qs(parts.query)['host'][0]} port={parse_qs(parts.query)['port'][0]}\n"
        f"[pgbouncer]\nunix_socket_dir={directory}\nlisten_addr=\nlisten_port=6432\nauth_type=trust\n"
        f"auth_file={directory}/users\npool_mode=transaction\ndefault_pool_size=3\n"
        + ("user=nobody\n" if os.getuid() == 0 else ""),
        encoding="utf-8",
    )
    (directory / "users").write_text(f'"{parts.username}" ""\n', encoding="utf-8")
    with subprocess.Popen([program, settings], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as pooler:
        asyncio.run(_answering(socket_file))
        yield f"postgresql://{parts.username}@{parts.path}?host={directory}&port=6432"
        pooler.terminate()
    shutil.rmtree(directory, ignore_errors=True)


async def _answering(socket_file: Path) -> None:
    async with asyncio.timeout(20):
        while True:
            with socket.socket(socket.AF_UNIX) as client:
                if client.connect_ex(str(socket_file)) == 0:
                    return
            await asyncio.sleep(0.02)


def test_every_command_works_through_a_transaction_pooler(run_memory, pooled_dsn, tmp_path):
    file = str(tmp_path / "memories.jsonl")
    others = (("export", file), ("import", file), ("worker", "run", "index_maintenance"), ("reembed",), ("stats",))
    for arguments in (("migrate",), *DAILY, *others):
        done = run_memory("--dsn", pooled_dsn, "--schema", "jeeves", *arguments, MEMORY_POOLER="true")
        assert done.exit_code == 0, (arguments, done.stderr)


def test_the_settings_of_the_page_are_settings():
    for block in blocks(PAGE, "toml"):
        parse_config(tomllib.loads(block.code)["modules"]["memory"])


def test_the_program_of_the_page_prints_what_its_comment_says(dsn, tmp_path):
    [program] = blocks(PAGE, "python")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_")}
    completed = subprocess.run(
        [sys.executable, "-c", program.code],
        env={**clean, "MEMORY_DSN": dsn, "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (completed.returncode, completed.stdout) == (0, "19 tools\n"), completed.stderr
