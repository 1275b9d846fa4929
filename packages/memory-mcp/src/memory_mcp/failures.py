"""Turns errors into one line on stderr and an exit code that means something."""

import signal
from typing import IO, Any

import asyncpg
import click
from memory_core import InvalidInputError, MemoryModuleError
from memory_core.database import UNAVAILABLE


class Failed(click.ClickException):
    """It could not be done."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class WrongInput(Failed):
    """What was typed or configured is wrong."""

    exit_code = 2


class Interrupted(click.ClickException):
    """Somebody pressed Ctrl-C; the exit code is the one that shells give a process that SIGINT ended."""

    exit_code = 128 + signal.SIGINT

    def __init__(self) -> None:
        super().__init__("interrupted")

    def show(self, file: IO[str] | None = None) -> None:
        """Say so; what somebody wanted is no error."""
        click.echo(self.message, file=file, err=file is None)


class FailingInOneLine(click.Group):
    """A group whose commands fail with a message instead of a traceback where the error is one we know."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command.

        Raises:
            Failed: the command failed in a way that its message explains.
            Interrupted: it was interrupted, and has left everything in order.
        """
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None
        except InvalidInputError as error:
            raise WrongInput(str(error)) from error
        except MemoryModuleError as error:
            raise Failed(str(error)) from error
        except asyncpg.InsufficientPrivilegeError as error:
            raise Failed(f"the database role may not do this: {error}; docs/hosting.md lists what it needs") from error
        except UNAVAILABLE as error:
            # Files and closed pipes are click's own affair; what is left is a server that went away during the work.
            if isinstance(error, BrokenPipeError) or (isinstance(error, OSError) and error.filename is not None):
                raise
            raise Failed(f"the database is not available any more: {str(error) or type(error).__name__}") from error
