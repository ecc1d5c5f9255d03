"""An MCP server on the Python SDK (mcp 2.3) that asks its client back, in both generations of the protocol.

    asking_server.py (--http | --stdio) [--port 0] [--lifetime 600]

With --http the first line on standard output is its URL. Tools:

    ask {"what": "sampling" | "elicitation" | "roots"}   asks the client, and answers with what it said: up to 2025-11-25 by a
                                                         request of its own, on 2026-07-28 by a result (`input_required`)
    announce                                             says that the list of tools has changed

The list of tools may be kept for a minute (`ttlMs`).
"""

import argparse
import asyncio
import socket
import sys
from pathlib import Path

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parents[1]))
from lifetime import bounded  # noqa: E402

STATELESS = "2026-07-28"
INVALID_PARAMS = -32602
KEPT_MS = 60_000

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
WORDS = types.SamplingMessage(role="user", content=types.TextContent(type="text", text="When is high tide?"))

# What is asked, and what the answer is.
REQUESTS = {
    "sampling": (
        types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[WORDS], max_tokens=50)),
        types.CreateMessageResult,
    ),
    "elicitation": (
        types.ElicitRequest(params=types.ElicitRequestFormParams(message="Who are you?", requested_schema=FORM)),
        types.ElicitResult,
    ),
    "roots": (types.ListRootsRequest(), types.ListRootsResult),
}


def text(words):
    return types.CallToolResult(content=[types.TextContent(type="text", text=words)])


class Asking:
    def __init__(self):
        self.bus = InMemorySubscriptionBus()

    async def list_tools(self, _context, _params):
        what = {"type": "string", "enum": list(REQUESTS)}
        schema = {"type": "object", "properties": {"what": what}, "required": ["what"]}
        tools = [
            types.Tool(name="ask", description="Asks the client back.", input_schema=schema),
            types.Tool(name="announce", description="Says that tools changed.", input_schema={"type": "object"}),
        ]
        return types.ListToolsResult(tools=tools, ttl_ms=KEPT_MS, cache_scope="private")

    async def call_tool(self, context, params):
        match params.name:
            case "ask":
                return await self.ask(context, params)
            case "announce":
                await self.bus.publish(ToolsListChanged())
                return text("Announced.")
        raise MCPError(code=INVALID_PARAMS, message="there is no such tool")

    async def ask(self, context, params):
        what = params.arguments["what"]
        request, kind = REQUESTS[what]
        if context.session.protocol_version != STATELESS:
            within = ServerMessageMetadata(related_request_id=context.request_id)
            answer = await context.session.send_request(request, kind, metadata=within)
        elif params.input_responses is None:
            return types.InputRequiredResult(input_requests={what: request}, request_state=f"asked-{what}")
        else:
            answer = params.input_responses[what]
        return text(answer.model_dump_json(by_alias=True, exclude_none=True))

    def server(self):
        return Server(
            "asking",
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_subscriptions_listen=ListenHandler(self.bus),
        )


async def serve_lines(server):
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


def serve_http(server, port):
    listener = socket.create_server(("127.0.0.1", port))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    application = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="warning"))
    asyncio.run(application.serve(sockets=[listener]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    transport = parser.add_mutually_exclusive_group(required=True)
    transport.add_argument("--http", action="store_true")
    transport.add_argument("--stdio", action="store_true")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--lifetime", type=float, default=600)
    options = parser.parse_args()
    server = Asking().server()
    if options.stdio:
        asyncio.run(serve_lines(server))
    else:
        bounded(options.lifetime)
        serve_http(server, options.port)


if __name__ == "__main__":
    main()
