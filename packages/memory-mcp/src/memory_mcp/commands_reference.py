"""Writes docs/command-line.md from the commands themselves: `python -m memory_mcp.commands_reference`."""

import sys
from collections.abc import Iterator

import click

from memory_mcp.cli import memory

INTRODUCTION = """\
# The command line

<!-- Generated from the commands: uv run python -m memory_mcp.commands_reference > docs/command-line.md -->

`memory` does at a terminal what models do by [tools](tools.md), and what only an operator should do.

- Global options come before the command. What they leave open comes from the [configuration](configuration.md).
- Results go to stdout, for people or with `--json` for machines. Which server is used, progress bars (on a terminal
  only), warnings and errors go to stderr; an error is one line.
- Exit codes: 0 done, 1 it could not be done, 2 what was typed or configured is wrong, 130 interrupted. Ctrl-C leaves
  everything in order.
- Commands work for one tenant: `--tenant`, else the configured one. `reembed`, `migrate` and `worker run` work for all.

`memory-mcp`, a script of its own, serves MCP on stdin and stdout; it takes the same global options.
"""

WIDTH = 100


def reference() -> str:
    """Return the page."""
    return "\n".join([INTRODUCTION, *_page(memory, "memory", None)])


def _page(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    context = click.Context(
        command,
        parent,
        name,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
        color=False,
    )
    yield f"## `{context.command_path}`\n"
    yield f"```text\n{_trimmed(command.get_help(context))}\n```\n"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            yield from _page(command.commands[below], below, context)


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


if __name__ == "__main__":
    sys.stdout.write(reference())
