"""`memory token`: who may use the HTTP server, and as which tenant."""

from dataclasses import asdict

import click
from rich.markup import escape
from rich.table import Table

from memory_mcp.failures import Failed
from memory_mcp.invocation import Invocation
from memory_mcp.output import json_option, people, print_json
from memory_mcp.state_files import prepare_state_directory, token_file
from memory_mcp.tokens import TokenFile, TokenRecord


@click.group()
def token() -> None:
    """Make, list and revoke the tokens of the HTTP server. Only their hashes are kept."""


@token.command()
@click.option("--tenant", help="Whose memories it opens; the configured tenant by default.")
@click.option("--name", default="", help="What it is for, to recognise it by.")
@click.option("--days", type=float, help="How long it is valid; for ever by default.")
@json_option
@click.pass_obj
def create(invocation: Invocation, tenant: str | None, name: str, days: float | None, as_json: bool) -> None:
    """Make a token for a tenant and show it, this once."""
    config = invocation.config()
    if config.serve.token_file is None:
        prepare_state_directory(config, invocation.data_dir)
    record, secret = _file(invocation).create(tenant or config.tenant_id, name, days=days)
    if as_json:
        print_json({**_shown(record), "token": secret})
        return
    click.echo(secret)
    click.secho(
        f"token {record.id} is for tenant {record.tenant_id!r} and is shown only now; "
        "send it as the header: Authorization: Bearer <token>",
        err=True,
    )


@token.command("list")
@json_option
@click.pass_obj
def list_tokens(invocation: Invocation, as_json: bool) -> None:
    """List the tokens: for whom, since when, until when."""
    records = _file(invocation).records()
    if as_json:
        print_json([_shown(record) for record in records])
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("id", "tenant", "name", "made", "valid until"):
        table.add_column(heading, overflow="fold")
    for record in records:
        shown = (
            record.id,
            record.tenant_id,
            record.name,
            record.created_at[:16],
            (record.expires_at or "revoked")[:16],
        )
        table.add_row(*(escape(text) for text in shown))
    people().print(table)


@token.command()
@click.argument("token_id", metavar="ID")
@click.pass_obj
def revoke(invocation: Invocation, token_id: str) -> None:
    """Refuse a token from now on; running servers know at once."""
    revoked = _file(invocation).revoke(token_id)
    if revoked is None:
        raise Failed(f"there is no token {token_id!r}; `memory token list` shows all")
    click.echo(f"token {revoked.id} of tenant {revoked.tenant_id!r} is revoked")


def _file(invocation: Invocation) -> TokenFile:
    return TokenFile(token_file(invocation.config(), invocation.data_dir))


def _shown(record: TokenRecord) -> dict[str, str | None]:
    return {key: value for key, value in asdict(record).items() if key != "sha256"}
