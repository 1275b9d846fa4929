"""`memory plugins`: what is installed, what it provides, and what is wrong with it."""

from dataclasses import asdict

import click
from memory_core.plugin_selection import load_plugins, missing_plugins
from memory_core.plugins import PluginReport
from rich.markup import escape
from rich.table import Table

from memory_mcp.failures import Failed
from memory_mcp.invocation import Invocation
from memory_mcp.output import json_option, people, print_json

STYLES = {"loaded": "green", "disabled": "yellow", "broken": "red"}


@click.command()
@json_option
@click.pass_context
def plugins(context: click.Context, as_json: bool) -> None:
    """List the installed plugins and what each provides.

    A broken plugin is listed with its error and harms no other. What the configuration names and no plugin provides is
    listed too, and makes the exit code 1: nothing would start. No server is needed.
    """
    invocation: Invocation = context.obj
    config = invocation.config()
    loaded = load_plugins(config)
    missing = missing_plugins(loaded, config)
    if as_json:
        print_json({"plugins": [asdict(report) for report in loaded.reports], "missing": missing})
    else:
        _show(loaded.reports, missing)
    context.exit(Failed.exit_code if missing else 0)


def _show(reports: list[PluginReport], missing: list[str]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("plugin", "package", "status", "provides"):
        table.add_column(heading, overflow="fold")
    for report in reports:
        status = f"[{STYLES[report.status]}]{report.status}[/]"
        table.add_row(escape(report.name), escape(report.source), status, escape(_provided(report)))
    console = people()
    console.print(table)
    for problem in missing:
        console.print(f"[red]missing[/] {escape(problem)}", soft_wrap=True)


def _provided(report: PluginReport) -> str:
    if report.error:
        return report.error
    return "\n".join(f"{hook}: {', '.join(names)}" for hook, names in report.provides.items())
