"""`memory doctor`: what is in order, what is not, and what to do about it."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict

import click
from rich.markup import escape
from rich.table import Table

from memory_mcp.examination import examine
from memory_mcp.failures import Failed
from memory_mcp.findings import Finding
from memory_mcp.invocation import Invocation
from memory_mcp.output import json_option, people, print_json

STYLES = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command()
@json_option
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Say what is in order, and what to do about what is not.

    Nothing is changed: the schema is not migrated and no worker is run; only an embedded server is started if it is not
    running. The exit code is 1 if anything fails; warnings do not count.
    """
    findings = asyncio.run(_examine(context.obj))
    failed = any(finding.status == "fail" for finding in findings)
    if as_json:
        print_json({"ok": not failed, "findings": [asdict(finding) for finding in findings]})
    else:
        _show(findings)
    context.exit(Failed.exit_code if failed else 0)


async def _examine(invocation: Invocation) -> list[Finding]:
    return [finding async for finding in examine(invocation)]


def _show(findings: Sequence[Finding]) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for finding in findings:
        told = escape(finding.told) + (f"\n[bold]-> {escape(finding.remedy)}[/]" if finding.remedy else "")
        table.add_row(f"[{STYLES[finding.status]}]{finding.status}[/]", finding.what, told)
    people().print(table)
