"""Where commands print: results on stdout, for people or as JSON; everything else on stderr."""

import json
from typing import Any

import click
from rich.console import Console

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")


def people() -> Console:
    """Return the console for results that people read."""
    return Console(highlight=False)


def print_json(value: Any) -> None:
    """Print a value as JSON, and nothing else, on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def say_where(location: str) -> None:
    """Say on stderr which server is used."""
    click.secho(f"memory is in {location}", err=True, dim=True)
