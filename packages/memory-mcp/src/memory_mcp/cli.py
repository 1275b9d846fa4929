"""The `memory` command: its global options and its list of commands."""

import signal
from pathlib import Path
from typing import NoReturn

import click

from memory_mcp import __version__
from memory_mcp.command_sections import SectionedGroup
from memory_mcp.commands.call import call
from memory_mcp.commands.cleanup import cleanup
from memory_mcp.commands.completion import completion
from memory_mcp.commands.confirm import confirm
from memory_mcp.commands.consolidate import consolidate
from memory_mcp.commands.context import context
from memory_mcp.commands.demo import demo
from memory_mcp.commands.doctor import doctor
from memory_mcp.commands.export import export
from memory_mcp.commands.forget import forget
from memory_mcp.commands.get import get
from memory_mcp.commands.import_memories import import_memories
from memory_mcp.commands.migrate import migrate
from memory_mcp.commands.plugins import plugins
from memory_mcp.commands.purge import purge
from memory_mcp.commands.recall import recall
from memory_mcp.commands.reembed import reembed
from memory_mcp.commands.requeue import requeue
from memory_mcp.commands.search import search
from memory_mcp.commands.serve import serve
from memory_mcp.commands.stats import stats
from memory_mcp.commands.store import store
from memory_mcp.commands.sweep import sweep
from memory_mcp.commands.token import token
from memory_mcp.commands.worker import worker
from memory_mcp.invocation import Invocation
from memory_mcp.log_lines import log_to_stderr


@click.group(
    cls=SectionedGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 it could not be done, 2 what was typed or configured is wrong, 130 interrupted.",
)
@click.version_option(__version__, prog_name="memory")
@click.option("--config", "config_file", type=click.Path(path_type=Path), help="A TOML file with [modules.memory].")
@click.option("--dsn", help="Your own PostgreSQL. MEMORY_DSN keeps a password out of the process list.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where the embedded server keeps its data.")
@click.option("--schema", help="The PostgreSQL schema that holds the tables.")
@click.option("--tenant", help="Whose memories are meant.")
@click.option("-v", "--verbose", is_flag=True, help="Log what is done, and errors with their traceback.")
@click.pass_context
def memory(
    context: click.Context,
    config_file: Path | None,
    dsn: str | None,
    data_dir: Path | None,
    schema: str | None,
    tenant: str | None,
    verbose: bool,
) -> None:
    """Durable memory for AI agents: episodes, facts and rules in PostgreSQL.

    Without --dsn, MEMORY_DSN or a configured dsn, an embedded PostgreSQL is started; nothing has to be installed.
    """
    if dsn and data_dir:
        raise click.UsageError("--dsn names your own server and --data-dir the embedded one's place; give one of them")
    log_to_stderr(verbose)
    context.obj = Invocation(config_file, dsn, data_dir, schema, tenant)


memory.add_section("Serving", serve, token, demo)
memory.add_section("Memories", search, recall, context, store, get, confirm, forget, stats)
memory.add_section("Upkeep", consolidate, requeue, sweep, cleanup, worker)
memory.add_section("Data", export, import_memories, purge, reembed, migrate)
memory.add_section("Looking into it", doctor, plugins, call, completion)


def main() -> None:
    """Run the command line; the entry point of the `memory` script."""
    # Unhandled, it would end the process at once, and leave an embedded server running that nobody uses.
    signal.signal(signal.SIGTERM, _leave_in_order)
    memory(prog_name="memory")


def _leave_in_order(signal_number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + signal_number)


if __name__ == "__main__":
    main()
