"""Runs one program to its end: input on stdin, output capped, time limited, and nothing of it left behind.

The program leads a process group of its own. Whichever way the run ends (it exits, takes too long, says too much, is
cancelled), the whole group is killed, so that what it started ends with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory_core import MemoryModuleError

# Long enough for a killed group to close its pipes; a process that left the group may hold them for ever.
DRAIN_SECONDS = 2.0
STDERR_BYTES = 16_384


class ProgramError(MemoryModuleError):
    """The program could not be started, or was stopped; the message says why."""


@dataclass(frozen=True)
class Finished:
    """How a program ended by itself."""

    returncode: int
    stdout: str
    stderr: str


async def run_program(
    argv: Sequence[str], *, stdin: str, environment: Mapping[str, str], timeout: float, max_output: int
) -> Finished:
    """Run a program, without a shell and in an empty directory, and return how it ended.

    Raises:
        ProgramError: it cannot be started, takes too long or writes too much.
    """
    loop = asyncio.get_running_loop()
    with tempfile.TemporaryDirectory(prefix="memory-spawner-", ignore_cleanup_errors=True) as directory:
        run = _Run(loop.create_future(), loop.create_future(), max_output)
        try:
            transport, _ = await loop.subprocess_exec(
                lambda: run, *argv, cwd=directory, env=dict(environment), start_new_session=os.name == "posix"
            )
        except (OSError, ValueError) as error:
            raise ProgramError(f"{argv[0]!r} cannot be started: {error}") from error
        try:
            _write(transport, stdin)
            async with asyncio.timeout(timeout):
                await run.ended
        except TimeoutError:
            raise ProgramError(f"{argv[0]!r} did not finish within {timeout:g} seconds and was stopped") from None
        finally:
            _kill_group(transport)
            await _drain(run, transport)
    if run.overflowed:
        raise ProgramError(f"{argv[0]!r} wrote more than {max_output:,} bytes and was stopped")
    return Finished(transport.get_returncode() or 0, _text(run.stdout), _text(run.stderr))


class _Run(asyncio.SubprocessProtocol):
    """Collects what a program writes.

    A protocol and not a stream pair, because the latter's wait() returns only when all pipes are closed, and a
    background process that the program leaves behind keeps them open.
    """

    def __init__(self, ended: asyncio.Future[None], closed: asyncio.Future[None], max_output: int) -> None:
        self.ended = ended
        self.closed = closed
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.overflowed = False
        self._max_output = max_output

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep the beginning of stdout up to the cap, and the end of stderr."""
        if fd == 2:
            self.stderr += data
            del self.stderr[:-STDERR_BYTES]
        elif len(self.stdout) + len(data) > self._max_output:
            self.overflowed = True
            self.process_exited()
        else:
            self.stdout += data

    def process_exited(self) -> None:
        """Take note that there is nothing to wait for any more."""
        if not self.ended.done():
            self.ended.set_result(None)

    def connection_lost(self, _error: Exception | None) -> None:
        """Take note that the program is gone and its pipes are closed."""
        if not self.closed.done():
            self.closed.set_result(None)


def _write(transport: asyncio.SubprocessTransport, text: str) -> None:
    pipe = transport.get_pipe_transport(0)
    assert isinstance(pipe, asyncio.WriteTransport)
    pipe.write(text.encode("utf-8", "replace"))
    pipe.close()


def _kill_group(transport: asyncio.SubprocessTransport) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(transport.get_pid(), signal.SIGKILL)
        elif transport.get_returncode() is None:
            transport.kill()


async def _drain(run: _Run, transport: asyncio.SubprocessTransport) -> None:
    try:
        await asyncio.wait({run.closed}, timeout=DRAIN_SECONDS)
    finally:
        transport.close()


def _text(data: bytearray) -> str:
    return data.decode("utf-8", "replace")
