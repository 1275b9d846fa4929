"""A chain of Alembic revisions that a plugin can bring along."""

from dataclasses import dataclass
from pathlib import Path

CORE_LOCATION = Path(__file__).parent / "migrations"


@dataclass(frozen=True)
class MigrationChain:
    """Revisions in `<location>/versions`, their state kept in a version table of their own."""

    name: str
    location: Path

    @property
    def version_table(self) -> str:
        """The table that records how far this chain has been applied."""
        return f"{self.name}_alembic_version"

    @property
    def revisions(self) -> list[str]:
        """The revisions, oldest first, read from the file names so that an up-to-date start need not import Alembic."""
        stems = sorted(path.stem for path in (self.location / "versions").glob("[!_]*.py"))
        return ["_".join(stem.split("_")[:2]) for stem in stems]

    @property
    def head(self) -> str:
        """The newest revision."""
        return self.revisions[-1]


CORE_CHAIN = MigrationChain("memory", CORE_LOCATION)
