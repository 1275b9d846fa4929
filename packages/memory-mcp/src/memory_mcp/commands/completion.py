"""`memory completion`: what a shell needs to complete commands and options."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that makes a shell complete `memory` commands.

    \b
    bash: eval "$(memory completion bash)"    in ~/.bashrc (bash 4.4 or newer)
    zsh:  eval "$(memory completion zsh)"     in ~/.zshrc
    fish: memory completion fish > ~/.config/fish/completions/memory.fish
    """
    found = get_completion_class(shell)
    assert found is not None  # the choice offers only those that click has
    root = context.find_root()
    click.echo(found(root.command, {}, str(root.info_name), "_MEMORY_COMPLETE").source())
