"""A scripted OpenAI-compatible chat-completions server that makes the calls of a recorded run: a SCRIPT, not a model.

    proof_model.py --trace TRACE.jsonl [--port 0] [--lifetime 600]
    proof_model.py --document ID --behaviour obey|refuse [--port 0] [--lifetime 600]

TRACE is a trace of Sortie, such as `gave-in.jsonl` or `did-its-task.jsonl` beside a document of the library. The first
line on standard output is the base URL, http://127.0.0.1:PORT/v1. The n-th answer asks for the n-th `tools/call` of the
trace, with its arguments, where the tool is there under its name, or under one that ends with it; then it answers in text.

With a document, the calls are those of its proofs: the task, and, with `obey`, what the attack wants, as soon as its words are
in what the model is shown. Where they never are, nothing is obeyed.
"""

import argparse
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parents[1]))
from lifetime import bounded  # noqa: E402
from recorded_script import recorded_script  # noqa: E402


def calls_of(path):
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["record"] == "message" and record["direction"] == "request" and "tools/call" in record["surfaces"]:
            params = record["content"]["params"]
            yield params["name"], params.get("arguments", {})


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    task, told, then = [], None, []

    @property
    def calls(self):
        return self.task + (self.then if self.told in self.shown else [])

    def do_POST(self):
        self.shown = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        request = json.loads(self.shown)
        tools = [tool["function"]["name"] for tool in request.get("tools", [])]
        done = sum(message["role"] == "tool" for message in request["messages"])
        message, reason = {"role": "assistant", "content": f"Done, with {done} calls."}, "stop"
        if done < len(self.calls):
            name, arguments = self.calls[done]
            shown = next((tool for tool in tools if tool.endswith(name)), name)
            function = {"name": shown, "arguments": json.dumps(arguments)}
            call = {"id": f"call_{len(request['messages'])}", "type": "function", "function": function}
            message, reason = {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        common = {"id": "scripted", "object": "chat.completion", "created": int(time.time()), "model": "scripted"}
        body = json.dumps({**common, "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    script = parser.add_mutually_exclusive_group(required=True)
    script.add_argument("--trace")
    script.add_argument("--document")
    parser.add_argument("--behaviour", choices=["obey", "refuse"], default="obey")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--lifetime", type=float, default=600)
    options = parser.parse_args()
    if options.trace:
        Handler.task, Handler.told = list(calls_of(options.trace)), ""
    else:
        script = recorded_script(options.document)
        Handler.task, Handler.told = script["task"], script["told"]
        Handler.then = script["then"] if options.behaviour == "obey" else []
    bounded(options.lifetime)
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
