"""An MCP server of 2026-07-28 on the Python SDK (mcp 2.3) that keeps notes, with faults that were planted, or without.

    notes_server.py [--faults NAME,NAME…] [--headers] [--port 0] [--lifetime 600]

The first line on standard output is its URL. Tools: write_note, read_note, introduce (which asks back who one is, by its
answer). Notes are resources too (note://NAME). `--headers` marks the parameter `name` with `x-mcp-header: Note`. What headers
say is compared by the SDK itself, and cannot be turned off. Faults:

    public-notes    notes may be kept by shared caches
    trusted-state   the `requestState` that a client brings back is not looked at; otherwise the SDK seals it
    used-states     a state may be used again while it is valid, as the SDK has it
"""

import argparse
import asyncio
import socket
import sys
from pathlib import Path

import mcp_types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parents[1]))
from lifetime import bounded  # noqa: E402

INVALID_PARAMS = -32602


def text(words, is_error=False):
    return types.CallToolResult(content=[types.TextContent(type="text", text=words)], is_error=is_error)


class Notes:
    def __init__(self, faults, headers):
        self.faults, self.headers = faults, headers
        self.notes, self.given = {"today": "Water the plants."}, set()

    def tools(self):
        name = {"type": "string"} | ({"x-mcp-header": "Note"} if self.headers else {})

        def tool(title, required):
            properties = {key: name if key == "name" else {"type": "string"} for key in required}
            schema = {"type": "object", "properties": properties, "required": required}
            return types.Tool(name=title, description=f"{title} of this server.", input_schema=schema)

        return [tool("write_note", ["name", "text"]), tool("read_note", ["name"]), tool("introduce", [])]

    async def list_tools(self, _context, _params):
        return types.ListToolsResult(tools=self.tools())

    async def call_tool(self, _context, params):
        arguments = params.arguments or {}
        match params.name:
            case "write_note":
                self.notes[arguments["name"]] = arguments["text"]
                return text("Kept.")
            case "read_note":
                found = self.notes.get(arguments["name"])
                return text(found or "There is no such note.", found is None)
            case "introduce":
                return self.introduce(params)
        raise MCPError(code=INVALID_PARAMS, message="there is no such tool")

    def introduce(self, params):
        if params.input_responses is None:
            state = f"introduction-{len(self.given) + 1}"
            self.given.add(state)
            form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
            asked = types.ElicitRequest(params=types.ElicitRequestFormParams(message="Who are you?", requested_schema=form))
            return types.InputRequiredResult(input_requests={"who": asked}, request_state=state)
        if params.request_state not in self.given and "trusted-state" not in self.faults:
            raise MCPError(code=INVALID_PARAMS, message="Invalid or expired requestState")
        if not self.faults & {"trusted-state", "used-states"}:
            self.given.discard(params.request_state)
        return text(f"Hello, {params.input_responses['who'].content['name']}.")

    async def read_resource(self, _context, params):
        uri = str(params.uri)
        found = self.notes.get(uri.removeprefix("note://"))
        if found is None:
            raise MCPError(code=INVALID_PARAMS, message="there is no such note")
        scope = "public" if "public-notes" in self.faults else "private"
        contents = [types.TextResourceContents(uri=uri, text=found)]
        return types.ReadResourceResult(contents=contents, ttl_ms=60_000, cache_scope=scope)


def application(options):
    notes = Notes(set(filter(None, options.faults.split(","))), options.headers)
    server = Server(
        "notes", on_list_tools=notes.list_tools, on_call_tool=notes.call_tool, on_read_resource=notes.read_resource
    )
    if "trusted-state" not in notes.faults:
        server.middleware.append(RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="notes"))
    return server.streamable_http_app(json_response=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", default="")
    parser.add_argument("--headers", action="store_true")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--lifetime", type=float, default=600)
    options = parser.parse_args()
    bounded(options.lifetime)
    listener = socket.create_server(("127.0.0.1", options.port))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    server = uvicorn.Server(uvicorn.Config(application(options), log_level="warning"))
    asyncio.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main()
