"""A group whose help lists its commands by what they are for."""

from collections.abc import Sequence
from functools import cached_property

import click

from memory_mcp.failures import FailingInOneLine


class SectionedGroup(FailingInOneLine):
    """Lists commands under headings, in the order in which they were added."""

    @cached_property
    def sections(self) -> list[tuple[str, Sequence[click.Command]]]:
        """The headings, and the commands under each."""
        return []

    def add_section(self, heading: str, *commands: click.Command) -> None:
        """Add commands that belong together."""
        self.sections.append((heading, commands))
        for command in commands:
            self.add_command(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the headings with their commands."""
        # Names are padded alike in all sections, so that the page has two columns and not two per section.
        width = max(len(str(command.name)) for _, commands in self.sections for command in commands)
        room = formatter.width - width - 6
        for heading, commands in self.sections:
            with formatter.section(heading):
                formatter.write_dl([(str(one.name).ljust(width), one.get_short_help_str(room)) for one in commands])
