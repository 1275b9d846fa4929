"""The fenced code blocks of a Markdown page."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent

_BLOCK = re.compile(r"^```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    code: str

    @property
    def file(self) -> str | None:
        """The path that the block's first line names: `# package/module.py`."""
        named = re.match(r"# (\S+\.\w+)\n", self.code)
        return named[1] if named else None


def blocks(page: Path, language: str) -> list[Block]:
    found = (Block(match["language"], match["code"]) for match in _BLOCK.finditer(page.read_text(encoding="utf-8")))
    return [block for block in found if block.language == language]
