"""`uv run nox` checks everything; `uv run nox -l` lists the longer sessions.

The default sessions run in the environment that `uv run` has made, so nothing is installed twice.
"""

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "imports", "tests"]


@nox.session
def lint(session: nox.Session) -> None:
    """Style and formatting."""
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session
def types(session: nox.Session) -> None:
    """Static types, strict."""
    session.run("mypy", *(f"packages/memory-{name}/src" for name in PACKAGES))


@nox.session
def imports(session: nox.Session) -> None:
    """Packages import only what they may."""
    session.run("lint-imports")


@nox.session
def tests(session: nox.Session) -> None:
    """Every test that belongs to the default run."""
    session.run("pytest", *session.posargs)


PACKAGES = ("core", "embed", "entities", "consolidate", "mcp", "agent")
