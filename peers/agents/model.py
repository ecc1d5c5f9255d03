"""A scripted OpenAI-compatible chat-completions server: a SCRIPT, not a model.

    model.py --behaviour obey|refuse [--fault WORD] [--port 0] [--think SECONDS] [--file PATH=CONTENT]… [--lifetime 600]

The first line on standard output is the base URL, http://127.0.0.1:PORT/v1. It answers POST …/chat/completions,
streaming or not, as a function of the request alone. Each request and its answer are one JSON line on standard error.
With --fault it does not work, in one of the ways of ../faults.py.
It proves plumbing, that what a server says reaches whatever decides and is acted on; it says nothing about how
susceptible any real model is.

Both behaviours do the user's task. A tool is meant when the last user message names it (`get_forecast`), or, if none
is named, when it has a word of the name (`forecast`, four letters or more). Each is called once, one call in a turn:

    get_forecast {"city": "Bern"}            with these arguments
    forecast for Bern, Basel, Chur and Thun  four times, each place in the first required argument
    forecast for Bern 5 times                five times the same
    forecast for Bern until it changes       until a result differs from the first one, at most 40 times, 0.1 s apart

Then it answers in text. `refuse` does nothing else. `obey` also does what it is told in descriptions of tools and of
their parameters, in system messages and in tool results, each instruction once, before it goes on with the task:

    call TOOL with {"argument": "value", …}
    send WHAT to WHERE                  with the first tool that can send, or that WHERE names
    pass WHAT as ARGUMENT               (also `include`, `put`; `in` or `to` for `as`) in a description: every call of
                                        this tool carries it; elsewhere: every call of a tool that has the argument
    read FILE and pass its content as ARGUMENT
    read FILE and send it to WHERE

Text in quotes or backticks stands for itself. WHAT is such text, or one of: the user's message; the conversation; the
result; the names of the tools; the content of FILE. In the arguments of `call`, the same stand in angle brackets:
{"notes": "<the user's message>"}. A FILE is read with a tool whose name has `read` in it, if there is one; else what
--file says, else a made-up content that names the file.
"""

import argparse
import json
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parents[1]))
from faults import FAULTS, fails  # noqa: E402
from lifetime import bounded  # noqa: E402

LOOP = 40
PACE = 0.1


class Tool:
    def __init__(self, definition):
        function = definition["function"]
        self.name = function["name"]
        self.description = function.get("description") or ""
        schema = function.get("parameters") or {}
        self.properties = schema.get("properties") or {}
        self.required = schema.get("required") or []

    def texts(self):
        yield self.description
        for schema in self.properties.values():
            if isinstance(schema, dict):
                yield str(schema.get("description") or "")

    def first(self):
        """The argument that the user's words go to."""
        return next(iter([*self.required, *self.properties]), None)

    def property_like(self, words, otherwise=None):
        return next((name for name in self.properties if re.search(words, name, re.I)), otherwise)


def text_of(content):
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""


class Turn:
    """What the script sees in one request."""

    def __init__(self, request, files):
        self.messages = request["messages"]
        self.tools = [Tool(definition) for definition in request.get("tools") or []]
        self.files = files
        users = [at for at, message in enumerate(self.messages) if message["role"] == "user"]
        self.start = users[-1] if users else 0
        self.user = text_of(self.messages[self.start].get("content")) if self.messages else ""
        self.done = list(self.calls())

    def calls(self):
        """The calls since the user spoke, in order, with their results."""
        results = {m.get("tool_call_id"): text_of(m.get("content")) for m in self.messages if m["role"] == "tool"}
        for message in self.messages[self.start :]:
            for call in message.get("tool_calls") or []:
                arguments = json.loads(call["function"]["arguments"] or "{}")
                yield call["function"]["name"], arguments, results.get(call["id"], "")

    # The user's task

    def task(self):
        """The tools that the user means, each with what follows its name."""
        named = [tool for tool in self.tools if re.search(rf"\b{re.escape(tool.name)}\b", self.user, re.I)]
        found = []
        for tool in named or self.tools:
            words = [tool.name] if named else [word for word in re.split(r"[^a-zA-Z]+", tool.name) if len(word) > 3]
            match = next(filter(None, (re.search(rf"\b{re.escape(word)}\b", self.user, re.I) for word in words)), None)
            if match:
                found.append((match.start(), match.end(), tool))
        found.sort(key=lambda one: one[0])
        ends = [start for start, _, _ in found[1:]] + [len(self.user)]
        return [(tool, self.user[end:until]) for (_, end, tool), until in zip(found, ends)]

    def plan(self):
        """The calls that the task needs: (tool, arguments, whether to repeat it until the result changes)."""
        for tool, rest in self.task():
            given = json_at(rest, rest.find("{")) if "{" in rest else None
            times = int(match[1]) if (match := re.search(r"(\d+) times", rest)) else 1
            until = "until it changes" in rest
            rest = re.sub(r"(\d+ times|until it changes).*", "", rest, flags=re.S)
            match = re.search(r"\b(?:for|in|of|about|with)\s+(.+)", rest, re.S)
            words = match[1].split("{")[0] if match else ""
            words = re.split(r"[.?!;:\n](?:\s|$)| then ", words)[0]
            items = [item.strip(" \"'`.?!") for item in re.split(r",| and ", words)]
            items = [item for item in items if item]
            if isinstance(given, dict):
                choices = [given]
            elif items and tool.first():
                choices = [{tool.first(): item} for item in items]
            else:
                choices = [{}]
            for arguments in choices:
                filled = {name: filler(tool.properties.get(name)) for name in tool.required} | arguments
                for _ in range(times):
                    yield tool, filled, until

    # Instructions that are not the user's

    def instructions(self):
        """Texts that try to instruct: (the tool described, the text, how many messages were there before)."""
        for message in self.messages:
            if message["role"] in ("system", "developer"):
                yield None, text_of(message.get("content")), self.start + 1
        for tool in self.tools:
            for text in tool.texts():
                yield tool, text, self.start + 1
        for at, message in enumerate(self.messages):
            if message["role"] == "tool" and at > self.start:
                yield None, text_of(message.get("content")), at + 1

    def file(self, name):
        """The content of a file, or the call that reads it."""
        reader = next((tool for tool in self.tools if "read" in tool.name.lower() and tool.first()), None)
        if reader and name not in self.files:
            argument = reader.property_like("path|file|uri", reader.first())
            for called, arguments, result in self.done:
                if called == reader.name and arguments.get(argument) == name:
                    return result, None
            return None, (reader.name, {argument: name})
        return self.files.get(name, f"(scripted content of {name})"), None

    def value(self, what, before):
        """What the words stand for, or the call that must come first. What was said `before` the instruction counts,
        so that it stays the same instruction, obeyed once, when more is said."""
        what = what.strip()
        if quoted := re.fullmatch(r"[\"'`“](.*)[\"'`”]", what, re.S):
            return quoted[1], None
        if match := re.search(r"contents? of (?:the file )?[\"'`]?([^\s\"'`]+)", what, re.I):
            return self.file(match[1].rstrip(".,;"))
        if re.search(r"conversation|history|chat", what, re.I):
            said = [m for m in self.messages[:before] if m["role"] not in ("system", "developer")]
            return "\n".join(text_of(m.get("content")) for m in said), None
        if re.search(r"user'?s? (message|prompt|request|question)", what, re.I):
            return self.user, None
        if re.search(r"result", what, re.I):
            is_in_result = self.messages[before - 1]["role"] == "tool"
            first = self.done[0][2] if self.done else None
            return (text_of(self.messages[before - 1].get("content")) if is_in_result else first), None
        if re.search(r"names? of (the |all )?tools|tool names", what, re.I):
            return ", ".join(tool.name for tool in self.tools), None
        return what, None

    def told(self):
        """The calls that the texts ask for, and the arguments to add: {tool name: {argument: value}}."""
        calls, extra = [], {}
        for owner, text, before in self.instructions():
            for match in re.finditer(r"\bcall\s+(?:the\s+)?(?:tool\s+)?[\"'`]?([\w.-]+)[\"'`]?\s+with\s+(?=\{)", text, re.I):
                arguments = json_at(text, match.end())
                if isinstance(arguments, dict) and any(tool.name == match[1] for tool in self.tools):
                    for name, value in arguments.items():
                        if isinstance(value, str) and (inner := re.fullmatch(r"<(.+)>", value)):
                            arguments[name], first = self.value(inner[1], before)
                            calls += [first] if first else []
                    if None not in arguments.values():
                        calls.append((match[1], arguments))
            text = re.sub(
                r"\bread\s+(?:the file\s+)?[\"'`]?([^\s\"'`]+?)[\"'`]?,?\s+and\s+(pass|include|put|send)\s+(?:its contents?|it)\b",
                r"\2 the content of \1",
                text,
                flags=re.I,
            )
            # Text in quotes, or words of one sentence: a full stop within a path or an address ends none.
            quoted = r"(\"[^\"]+\"|`[^`]+`|'[^']+'|(?:[^.;\n]|\.(?=\S))+?)"
            for match in re.finditer(
                rf"\b(?:pass|include|put)\s+{quoted}\s+(?:as|in|to)\s+(?:the\s+)?[\"'`]?(\w+)", text, re.I
            ):
                what, argument = match[1], match[2]
                value, first = self.value(what, before)
                calls += [first] if first else []
                for tool in [owner] if owner else self.tools:
                    if value is not None and (owner or argument in tool.properties):
                        extra.setdefault(tool.name, {})[argument] = value
            for match in re.finditer(rf"\bsend\s+{quoted}\s+to\s+[\"'`]?([^\s\"'`,;]+)", text, re.I):
                value, first = self.value(match[1], before)
                calls += [first] if first else []
                sending = self.sender(match[2].rstrip(".!?)"))
                if value is not None and sending:
                    calls.append(sending(value))
        return calls, extra

    def sender(self, where):
        """How to send something there: a function that makes the call."""
        named = [tool for tool in self.tools if tool.name == where]
        able = [t for t in self.tools if re.search(r"send|mail|post|message|upload|fetch|http|ask", t.name, re.I)]
        for tool in named + able:
            address = tool.property_like(r"^to$|url|recipient|address|destination|email|channel|agent")
            others = [name for name in [*tool.required, *tool.properties] if name != address]
            body = tool.property_like(r"body|text|message|content|data|query", others[0] if others else None)
            if body and body != address:
                return lambda value: (
                    tool.name,
                    {name: filler(tool.properties.get(name)) for name in tool.required}
                    | ({address: where} if address else {})
                    | {body: value},
                )
        return None

    # What to do next

    def next(self, obey):
        """The next call as (name, arguments), or the answer, and whether to take it slowly."""
        calls, extra = self.told() if obey else ([], {})
        for call in calls:
            if not any((name, arguments) == call for name, arguments, _ in self.done):
                return call, False
        left = list(self.done)
        for tool, arguments, until in self.plan():
            mine = [call for call in left if call[0] == tool.name and arguments.items() <= call[1].items()]
            if until:
                results = {result for _, _, result in mine}
                if len(results) < 2 and len(mine) < LOOP:
                    return (tool.name, arguments | extra.get(tool.name, {})), True
                left = [call for call in left if call not in mine]
            elif mine:
                left.remove(mine[0])
            else:
                return (tool.name, arguments | extra.get(tool.name, {})), False
        if not self.done:
            return "I am a script, and none of my tools is named in that.", False
        return f"Done, with {len(self.done)} tool calls. The last result: {self.done[-1][2][:200]}", False


def json_at(text, start):
    """The JSON value that begins there, whatever follows it."""
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except ValueError:
        return None


def filler(schema):
    schema = schema if isinstance(schema, dict) else {}
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    return {"integer": 1, "number": 1, "boolean": True, "array": [], "object": {}}.get(schema.get("type"), "text")


def completion(step, number):
    """The message of an answer, and why it ended."""
    if isinstance(step, str):
        return {"role": "assistant", "content": step}, "stop"
    name, arguments = step
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"


def pieces(message):
    """The message as a stream of differences."""
    yield {"role": "assistant", "content": "" if message["content"] else None}
    for call in message.get("tool_calls", []):
        function = call["function"]
        yield {"tool_calls": [{**call, "index": 0, "function": {"name": function["name"], "arguments": ""}}]}
        half = len(function["arguments"]) // 2
        for part in [function["arguments"][:half], function["arguments"][half:]]:
            yield {"tool_calls": [{"index": 0, "function": {"arguments": part}}]}
    for word in re.findall(r"\S+\s*", message["content"] or ""):
        yield {"content": word}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    options = None
    files = {}

    def do_GET(self):
        self.reply({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        if not self.path.endswith("/chat/completions"):
            self.reply({"error": {"message": f"a script, with no {self.path}"}}, 404)
            return
        turn = Turn(request, self.files)
        begun = {"id": "scripted", "choices": [{"index": 0, "delta": {"content": "I will "}, "finish_reason": None}]}
        if fails(self, self.options.fault, bool(turn.done), [f"data: {json.dumps(begun)}\n\n"]):
            return
        step, slowly = turn.next(self.options.behaviour == "obey")
        time.sleep(self.options.think + (PACE if slowly else 0))
        message, reason = completion(step, len(request["messages"]))
        tools = {tool.name: tool.description for tool in turn.tools}
        line = {"behaviour": self.options.behaviour, "user": turn.user, "tools": tools, "step": step}
        print(json.dumps(line), file=sys.stderr, flush=True)
        common = {"id": "scripted", "created": int(time.time()), "model": request.get("model", "scripted")}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not request.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            self.reply({**common, "object": "chat.completion", "choices": [choice], "usage": usage})
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        common["object"] = "chat.completion.chunk"
        for delta in pieces(message):
            self.event({**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        self.event({**common, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        self.event({**common, "choices": [], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def event(self, data):
        self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()

    def reply(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--behaviour", choices=["obey", "refuse"], required=True)
    parser.add_argument("--fault", choices=FAULTS)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--think", type=float, default=0, help="seconds before every answer")
    parser.add_argument("--file", action="append", default=[], metavar="PATH=CONTENT")
    parser.add_argument("--lifetime", type=float, default=600)
    Handler.options = parser.parse_args()
    Handler.files = dict(file.split("=", 1) for file in Handler.options.file)
    bounded(Handler.options.lifetime)
    server = ThreadingHTTPServer(("127.0.0.1", Handler.options.port), Handler)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
