"""Registers the tools on any server with the usual `tool()` decorator: the SDK's own, FastMCP, or a host's wrapper."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NotRequired, Protocol

import typing_extensions  # as a whole: typing's own namesakes do not know its typed dictionaries
from mcp.server.mcpserver.exceptions import ToolError
from memory_core import Tool

from memory_mcp.assembled_server import annotations_of
from memory_mcp.tool_calls import ToolCalls
from memory_mcp.tool_errors import explain_failure


class ToolCallError(ToolError):
    """A failed call; its text is the JSON that a model acts on.

    It is one of the SDK's own errors because the SDK hides the text of any other; to other hosts it is an exception.
    """


class ToolServer(Protocol):
    """A server that tools can be registered on."""

    def tool(self, **description: Any) -> Callable[[Any], Any]:
        """Return a decorator that registers a function."""


def register_tools(server: ToolServer, calls: ToolCalls, tenant_id: str) -> None:
    """Register every tool on a server, answering for one tenant."""
    for tool in calls.tools.values():
        register = server.tool(
            name=tool.name, title=tool.title, description=tool.description, annotations=annotations_of(tool)
        )
        register(hosted_function(tool, calls, tenant_id))


def hosted_function(tool: Tool, calls: ToolCalls, tenant_id: str) -> Callable[..., Awaitable[Any]]:
    """Return a function with the tool's visible signature, from which any host derives the same schema."""
    defaults = {name: parameter.default for name, parameter in tool.parameters.items()}

    async def hosted(**arguments: Any) -> Any:
        # Hosts fill in defaults. Passed on, they would look like choices of the caller, and a configured one be lost.
        given = {name: value for name, value in arguments.items() if value is not defaults.get(name, tool)}
        try:
            return await calls.call(tool.name, given, tenant_id)
        except Exception as error:
            # An isolation point: whatever fails, the host gets one kind of error with a text to act on.
            raise ToolCallError(explain_failure(error, tool.name).text()) from error

    signature = tool.signature.replace(return_annotation=_answer_type(tool))
    hosted.__name__ = hosted.__qualname__ = tool.name
    hosted.__doc__ = tool.description
    hosted.__signature__ = signature  # type: ignore[attr-defined]
    hosted.__annotations__ = {
        **{name: parameter.annotation for name, parameter in signature.parameters.items()},
        "return": signature.return_annotation,
    }
    return hosted


def _answer_type(tool: Tool) -> Any:
    """Return the type of a tool's answer with the echo of the request's id, which hosts would drop as unknown."""
    declared = tool.signature.return_annotation
    if "request_context" not in tool.parameters or not typing_extensions.is_typeddict(declared):
        return declared
    keys = typing_extensions.get_type_hints(declared, include_extras=True)
    # The functional form, because the keys are those of another type.
    return typing_extensions.TypedDict(declared.__name__, {**keys, "request_id": NotRequired[str]})  # type: ignore[operator]
