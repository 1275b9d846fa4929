"""`memory call`: run any tool from the command line."""

import asyncio
from collections.abc import Sequence

import click
from memory_core import Tool
from memory_core.plugin_selection import collect_tools, load_plugins, require_named_plugins

from memory_mcp.invocation import Invocation
from memory_mcp.output import print_json


@click.command()
@click.argument("tool", required=False)
@click.argument("arguments", nargs=-1, metavar="[NAME=VALUE]...")
@click.pass_obj
def call(invocation: Invocation, tool: str | None, arguments: Sequence[str]) -> None:
    """Run a tool as an MCP client would, and print its answer as JSON.

    Without TOOL, list the tools. Lists and objects are written as JSON:

        memory call memory_store_fact subject=user predicate=city content=Lisbon tags='["home"]'
    """
    if tool is None:
        _list_tools(invocation)
    else:
        asyncio.run(_call(invocation, tool, _parsed(arguments)))


async def _call(invocation: Invocation, tool: str, arguments: dict[str, str]) -> None:
    async with invocation.memory() as memory:
        print_json(await memory.call(tool, **arguments))


def _list_tools(invocation: Invocation) -> None:
    config = invocation.config()
    plugins = load_plugins(config)
    require_named_plugins(plugins, config)
    for tool in collect_tools(plugins, config).values():
        click.echo(f"{tool.name}({_signature(tool)})\n    {tool.description.partition(chr(10))[0]}")


def _signature(tool: Tool) -> str:
    return ", ".join(
        name if parameter.default is parameter.empty else f"{name}=…"
        for name, parameter in tool.parameters.items()
        if name != "request_context"
    )


def _parsed(arguments: Sequence[str]) -> dict[str, str]:
    parsed: dict[str, str] = {}
    for argument in arguments:
        name, separator, value = argument.partition("=")
        if not separator or not name.isidentifier():
            raise click.UsageError(f"argument {argument!r} is not NAME=VALUE; for example: memory_type=fact")
        if name in parsed:
            raise click.UsageError(f"argument {name!r} is given twice; give it once")
        parsed[name] = value
    return parsed
