"""A scripted MCP client on the official Python SDK, mcp 1.30 or 2.3: whichever environment runs it.

    client.py (--http URL | --sse URL | --stdio "COMMAND ARG…") [OPTION]… [OPERATION]…

An operation is a method with its parameters as JSON, one argument each:

    tools/list   'tools/call {"name": "echo", "arguments": {"message": "hi"}}'
    resources/list   resources/templates/list   'resources/read {"uri": "demo://a"}'
    'resources/subscribe {"uri": "demo://a"}'   'resources/unsubscribe {"uri": "demo://a"}'
    prompts/list   'prompts/get {"name": "p", "arguments": {"city": "Bern"}}'
    'completion/complete {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "city", "value": "B"}}'
    'logging/setLevel {"level": "debug"}'   ping   notifications/roots/list_changed
    'subscriptions/listen {"toolsListChanged": true}'      (2026-07-28 only; stays open until the end)
    'wait {"method": "notifications/message", "count": 1, "timeout": 10}'

    'clock {"advance": 61}'                                (with --cache; so many seconds pass for what is kept)

`wait` waits for messages of the server (notifications, and requests such as `elicitation/create`) that no earlier
`wait` has counted; what arrived before it counts too. Lists take `{"cursor": "…"}`.

Options:
    --script FILE        operations from a file, one on a line, before those of the command line
    --protocol P         mcp 2.3 only: `auto` (default: server/discover, then initialize), `legacy`, or `2026-07-28`
    --log-level LEVEL    mcp 2.3 on 2026-07-28 only: ask for log messages with every request
    --cache              mcp 2.3 on 2026-07-28 only: keep lists for as long as the server says (`ttlMs`), as the SDK does
                         by default. Without it, each operation asks the server
    --header "N: V"      send an HTTP header with every request (repeatable)
    --elicit JSON        answer the next elicitation with this content, or `decline`, or `cancel` (repeatable; the
                         last one stays). Without it: accept, with the defaults of the schema
    --sample TEXT        the text to answer sampling with
    --root URI           a root to list (repeatable)
    --without NAME       do not offer `elicitation`, `sampling` or `roots` (repeatable)
    --tolerate TEXT      a warning of the SDK that contains this is printed, and no failure (repeatable)
    --timeout SECONDS    for each operation (30)
    --lifetime SECONDS   for everything (600)

Prints JSON lines: {"connected": …}, {"op", "params", "result"} or {"op", "params", "error"} for each operation, and
{"event", "params", "answer"?} for each message of the server as it arrives, {"invalid": …} for what the SDK objected to.

Exit: 0 done (JSON-RPC errors are answers); 1 the SDK objected to something it received, even if it only logged it;
2 usage; 3 no connection, a connection lost, or a deadline missed.
"""

import argparse
import asyncio
import json
import logging
import shlex
import sys
import traceback
import warnings
from contextlib import AsyncExitStack
from importlib.metadata import version

import mcp
from mcp import StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

TWO = version("mcp").startswith("2.")
if TWO:
    import mcp_types as types
    from mcp import MCPError
    from mcp.client.caching import CacheConfig
else:
    from mcp import McpError as MCPError
    from mcp import types


def say(**line):
    print(json.dumps(line), flush=True)


def plain(model):
    """What the SDK made of it, under the names of the wire, and without the defaults it added."""
    return model.model_dump(by_alias=True, mode="json", exclude_unset=True)


class Objections(logging.Handler):
    """Everything the SDK warns about: it logs what it cannot validate, and goes on."""

    def __init__(self, tolerated):
        super().__init__(logging.WARNING)
        self.tolerated = tolerated
        self.count = 0
        self.done = False

    def emit(self, record):
        message = record.getMessage()
        if record.exc_info and record.exc_info[1]:
            message += "\n" + "".join(traceback.format_exception_only(record.exc_info[1]))
        self.add(message)

    def add(self, message):
        tolerated = any(text in message for text in self.tolerated)
        self.count += not tolerated
        say(**{"tolerated" if tolerated else "invalid": message})


def listen_to(objections):
    root = logging.getLogger()  # mcp 1.30 logs to the root logger, to `client` and to `mcp.…`
    root.addHandler(objections)
    logging.captureWarnings(True)
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", UserWarning)  # pydantic's
    if TWO:
        # A request of the server that does not validate is answered with an error, and not even logged.
        from mcp.shared.exceptions import MCPDeprecationWarning
        from mcp_types import methods
        from pydantic import ValidationError

        warnings.simplefilter("ignore", MCPDeprecationWarning)
        parse = methods.parse_server_request

        def watched(*arguments, **named):
            try:
                return parse(*arguments, **named)
            except ValidationError as error:
                objections.add(f"request of the server: {error}")
                raise

        methods.parse_server_request = watched


class Inbox:
    """What the server sent of itself, until a `wait` counts it."""

    def __init__(self):
        self.waiting = []
        self.changed = asyncio.Event()

    def put(self, method, params, **more):
        say(event=method, params=params, **more)
        self.waiting.append(method)
        self.changed.set()

    async def wait(self, method, count=1):
        while self.waiting.count(method) < count:
            self.changed.clear()
            await self.changed.wait()
        for _ in range(count):
            self.waiting.remove(method)


def filled(schema):
    """Content for a form: its defaults, and something of the right type for what is required without one."""
    content = {}
    for name, field in (schema or {}).get("properties", {}).items():
        if "default" in field:
            content[name] = field["default"]
        elif name in schema.get("required", []):
            kind = field.get("type")
            one_of = field.get("oneOf") or [{"const": value} for value in field.get("enum", [])]
            fillers = {"boolean": True, "integer": field.get("minimum", 1), "number": field.get("minimum", 1)}
            content[name] = one_of[0]["const"] if one_of else fillers.get(kind, [] if kind == "array" else "text")
    return content


class Clock:
    """The time by which kept answers become old. It only moves when it is told."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Callbacks:
    """How the client answers the server."""

    def __init__(self, options, inbox, objections):
        self.options, self.inbox, self.objections = options, inbox, objections

    def arguments(self):
        all_of_them = {"elicitation": self.elicitation, "sampling": self.sampling, "list_roots": self.roots}
        left_out = {name.replace("roots", "list_roots") for name in self.options.without}
        offered = {f"{name}_callback": call for name, call in all_of_them.items() if name not in left_out}
        return {**offered, "message_handler": self.message}

    async def elicitation(self, _context, params):
        answers = self.options.elicit
        answer = (answers.pop(0) if len(answers) > 1 else answers[0]) if answers else None
        if answer in ("decline", "cancel"):
            result = types.ElicitResult(action=answer)
        else:
            asked = plain(params)
            is_form = asked.get("mode", "form") == "form"
            content = json.loads(answer) if answer else filled(asked.get("requestedSchema"))
            result = types.ElicitResult(action="accept", content=content if is_form else None)
        self.inbox.put("elicitation/create", plain(params), answer=plain(result))
        return result

    async def sampling(self, _context, params):
        text = types.TextContent(type="text", text=self.options.sample)
        result = types.CreateMessageResult(role="assistant", content=text, model="scripted")
        self.inbox.put("sampling/createMessage", plain(params), answer=plain(result))
        return result

    async def roots(self, _context):
        roots = [types.Root(uri=uri, name=uri.rsplit("/", 1)[-1]) for uri in self.options.root]
        result = types.ListRootsResult(roots=roots)
        self.inbox.put("roots/list", None, answer=plain(result))
        return result

    async def message(self, message):
        if isinstance(message, Exception):
            self.objections.add(f"{type(message).__name__}: {message}")
            return
        message = getattr(message, "root", message)
        if hasattr(message, "method"):
            self.inbox.put(message.method, plain(message).get("params"))


def listing(name):
    def call(client, params):
        if TWO:
            return getattr(client, name)(cursor=params.get("cursor"))
        return getattr(client, name)(params=types.PaginatedRequestParams(**params))

    return call


def reference(params):
    kinds = {"ref/prompt": types.PromptReference, "ref/resource": types.ResourceTemplateReference}
    return kinds[params["ref"]["type"]](**params["ref"])


async def progressed(_progress, _total, _message):
    """Asking for progress sends a token; the notification itself comes to the message handler."""


OPERATIONS = {
    "tools/list": listing("list_tools"),
    "tools/call": lambda c, p: c.call_tool(p["name"], p.get("arguments"), progress_callback=progressed),
    "resources/list": listing("list_resources"),
    "resources/templates/list": listing("list_resource_templates"),
    "resources/read": lambda c, p: c.read_resource(p["uri"]),
    "resources/subscribe": lambda c, p: c.subscribe_resource(p["uri"]),
    "resources/unsubscribe": lambda c, p: c.unsubscribe_resource(p["uri"]),
    "prompts/list": listing("list_prompts"),
    "prompts/get": lambda c, p: c.get_prompt(p["name"], p.get("arguments")),
    "completion/complete": lambda c, p: c.complete(
        reference(p), p["argument"], context_arguments=p.get("context", {}).get("arguments")
    ),
    "logging/setLevel": lambda c, p: c.set_logging_level(p["level"]),
    "ping": lambda c, p: c.send_ping(),
    "notifications/roots/list_changed": lambda c, p: c.send_roots_list_changed(),
}


async def transport(stack, options):
    headers = dict((part.strip() for part in header.split(":", 1)) for header in options.header)
    if options.stdio:
        command, *arguments = shlex.split(options.stdio)
        return stdio_client(StdioServerParameters(command=command, args=arguments))
    if options.sse:
        return sse_client(options.sse, headers=headers)
    http = await stack.enter_async_context(create_mcp_http_client(headers=headers))
    return streamable_http_client(options.http, http_client=http)


async def connect(stack, options, callbacks, clock):
    """A connected client, which has the same methods in both SDKs, and the answer to the handshake."""
    wire = await transport(stack, options)
    if TWO:
        cache = CacheConfig(clock=clock) if options.cache else None
        client = mcp.Client(wire, mode=options.protocol, log_level=options.log_level, cache=cache, **callbacks.arguments())
        client = await stack.enter_async_context(client)
        found = client.session.initialize_result or client.session.discover_result
        return client, client.protocol_version, plain(found)
    streams = await stack.enter_async_context(wire)
    client = await stack.enter_async_context(mcp.ClientSession(*streams[:2], **callbacks.arguments()))
    found = await client.initialize()
    return client, found.protocolVersion, plain(found)


async def perform(stack, client, inbox, clock, method, params):
    if method == "wait":
        await inbox.wait(params["method"], params.get("count", 1))
        return None
    if method == "clock":
        clock.now += params["advance"]
        return None
    if method == "subscriptions/listen":
        names = {
            "toolsListChanged": "tools_list_changed",
            "promptsListChanged": "prompts_list_changed",
            "resourcesListChanged": "resources_list_changed",
            "resourceSubscriptions": "resource_subscriptions",
        }
        listening = client.listen(**{names[name]: value for name, value in params.items()})
        return (await stack.enter_async_context(listening)).honored
    return await OPERATIONS[method](client, params)


async def run(options, operations, objections):
    inbox, clock = Inbox(), Clock()
    async with AsyncExitStack() as stack:
        async with asyncio.timeout(options.timeout):
            client, protocol, found = await connect(stack, options, Callbacks(options, inbox, objections), clock)
        say(connected={"protocol": protocol, "sdk": version("mcp"), "server": found})
        for method, params in operations:
            told = {"op": method, "params": params}
            try:
                async with asyncio.timeout(params.get("timeout", options.timeout) if params else options.timeout):
                    result = await perform(stack, client, inbox, clock, method, params or {})
                say(**told, result=plain(result) if result is not None else None)
            except MCPError as error:
                say(**told, error=plain(error.error))
            except TimeoutError:
                say(**told, late=f"nothing came in time; not counted yet: {inbox.waiting}")
                raise
            except (ConnectionError, OSError):
                raise
            except Exception as error:  # whatever the SDK raises else is about what it received
                objections.add(f"{method}: {type(error).__name__}: {error}")
        say(done=len(operations))
        objections.done = True


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    target = parser.add_mutually_exclusive_group(required=True)
    for name in ["--http", "--sse", "--stdio"]:
        target.add_argument(name)
    parser.add_argument("--script")
    parser.add_argument("--protocol", default="auto")
    parser.add_argument("--log-level")
    parser.add_argument("--cache", action="store_true")
    for name in ["--header", "--elicit", "--root", "--without", "--tolerate"]:
        parser.add_argument(name, action="append", default=[])
    parser.add_argument("--sample", default="a scripted answer")
    parser.add_argument("--timeout", type=float, default=30)
    parser.add_argument("--lifetime", type=float, default=600)
    parser.add_argument("operation", nargs="*")
    options = parser.parse_args(arguments)

    lines = options.operation
    if options.script:
        with open(options.script, encoding="utf-8") as script:
            lines = [line.strip() for line in script if line.strip() and not line.startswith("#")] + lines
    operations = []
    for line in lines:
        method, _, params = line.partition(" ")
        if method not in OPERATIONS and method not in ("wait", "clock", "subscriptions/listen"):
            parser.error(f"there is no operation `{method}`")
        operations.append((method, json.loads(params) if params else {}))
    return options, operations


async def main():
    options, operations = parse(sys.argv[1:])
    objections = Objections(options.tolerate)
    listen_to(objections)
    try:
        async with asyncio.timeout(options.lifetime):
            await run(options, operations, objections)
    except BaseException as error:  # groups of the SDK's tasks, too
        # 1.30 over stdio fails when it closes while the server is still talking: that is not about the server.
        if not (objections.done and "BrokenResourceError" in "".join(traceback.format_exception(error))):
            traceback.print_exception(error)
            say(failed=f"{type(error).__name__}: {error}")
            return 3
    return 1 if objections.count else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
