"""The MCP server: the tools of all plugins behind the SDK's own protocol server.

The SDK's low-level server is used because a tool is declared already: its schema is published as it stands, and wrong
arguments get the same kind of answer as every other failure.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from memory_core import MemoryModuleConfig, Tool

from memory_mcp import __version__
from memory_mcp.tool_calls import ToolCalls
from memory_mcp.tool_errors import AnswerTooLargeError, ToolFailure, explain_failure

logger = logging.getLogger(__name__)

INSTRUCTIONS = (
    "Durable memory: episodes (what happened), facts (what is true) and rules (how to behave). "
    "Begin a session with memory_context; look things up with memory_search or memory_recall; store what should "
    "outlast the session with memory_store_episode, memory_store_fact and memory_store_rule, and report how a rule "
    "worked with memory_mark_helpful or memory_mark_harmful. A failed call answers {error, message, recovery}: "
    "do what recovery says."
)

TenantOf = Callable[[ServerRequestContext[Any, Any]], str]


def assemble_server(calls: ToolCalls, config: MemoryModuleConfig, tenant_of: TenantOf) -> Server[Any]:
    """Return a protocol server that lists the tools and answers their calls for the tenant of each request."""
    listed = types.ListToolsResult(tools=[describe_tool(tool) for tool in calls.tools.values()])

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return listed

    async def call_tool(
        context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        arguments = params.arguments or {}
        try:
            answer = await calls.call(params.name, arguments, tenant_of(context))
            return answered(answer, config.serve.max_result_bytes, calls.request_id(params.name, arguments))
        except Exception as error:
            # An isolation point: whatever fails, the client gets a text to act on, and the log gets the rest.
            return failed(explain_failure(error, params.name))

    return Server(
        "butler-memory",
        version=__version__,
        title="Butler Memory",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def describe_tool(tool: Tool) -> types.Tool:
    """Return a tool as clients see it."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=_object_schema(tool),
        annotations=annotations_of(tool),
    )


def annotations_of(tool: Tool) -> types.ToolAnnotations:
    """Return what a tool does to the world, for clients that ask before they let a model call it."""
    return types.ToolAnnotations(
        title=tool.title,
        read_only_hint=tool.read_only,
        destructive_hint=tool.destructive,
        idempotent_hint=tool.idempotent,
        open_world_hint=False,
    )


def answered(answer: Any, max_bytes: int, request_id: str | None = None) -> types.CallToolResult:
    """Return an answer as text and as structure, the structure with the id of the request if it has one.

    Raises:
        AnswerTooLargeError: it is larger than clients take.
    """
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    size = len(text.encode())
    if size > max_bytes:
        raise AnswerTooLargeError(f"the answer has {size} bytes, more than the {max_bytes} that may be sent")
    structure = answer if isinstance(answer, dict) else {"result": answer}
    if request_id is not None:
        structure = {**structure, "request_id": request_id}
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=structure)


def failed(failure: ToolFailure) -> types.CallToolResult:
    """Return a failure as an answer that a model can act on."""
    return types.CallToolResult(content=[types.TextContent(text=failure.text())], is_error=True)


def _object_schema(tool: Tool) -> dict[str, Any]:
    schema = tool.output_schema
    if schema.get("type") == "object":
        return schema
    # Structured content is an object in every version of the protocol; lists and texts are put into one.
    properties = {"result": schema}
    if "request_context" in tool.parameters:
        properties["request_id"] = {"type": "string"}
    return {"type": "object", "properties": properties, "required": ["result"]}
