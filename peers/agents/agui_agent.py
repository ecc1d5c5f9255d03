"""An AG-UI agent: pydantic-ai's AGUIAdapter, with a function in place of a model.

    agui_agent.py [--behaviour obey|refuse] [--secret TEXT] [--slow SECONDS] [--port 0] [--lifetime 600]

The first line on standard output is the URL to POST a RunAgentInput to; the answer is a stream of events (SSE).
The last user message decides. With `obey` (default):

    call TOOL, call TOOL with {…}   calls this frontend tool, if it is among the `tools` of the request, its arguments in
                                    three pieces; the run ends there. In the next run, which brings the result, it
                                    answers `The result: …`, after it has followed a `call …` in the result
    … secret …                      streams `The secret is TEXT.`, TEXT in five pieces
    … slow …                        one piece of text a second, for so many seconds (130)
    anything else                   a friendly answer

With `refuse` the answer is always that it cannot help with that. It is a script: it proves plumbing only.
"""

import argparse
import asyncio
import json
import re
import socket
import sys
from pathlib import Path

import uvicorn
from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.routing import Route

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parents[1]))
from lifetime import bounded  # noqa: E402


def pieces(text, count):
    """The text in so many pieces of about the same length."""
    size = -(-len(text) // count)
    return [text[at : at + size] for at in range(0, len(text), size)]


def parts(messages, container, kind):
    return [part for message in messages if isinstance(message, container) for part in message.parts if isinstance(part, kind)]


def wanted_calls(texts, tools):
    """The calls that the texts ask for, of tools that there are."""
    for text in texts:
        for match in re.finditer(r"\bcall\s+(?:the tool\s+)?[\"'`]?([\w.-]+)", text, re.I):
            arguments = {}
            if given := re.match(r"[\"'`]?\s+with\s+(?=\{)", text[match.end() :], re.I):
                arguments, _ = json.JSONDecoder().raw_decode(text, match.end() + given.end())
            if match[1] in tools:
                yield match[1], arguments


def scripted(options):
    async def stream(messages, info):
        prompts = parts(messages, ModelRequest, UserPromptPart)
        user = str(prompts[-1].content) if prompts else ""
        results = [str(part.content) for part in parts(messages, ModelRequest, ToolReturnPart)]
        made = [(part.tool_name, part.args_as_dict()) for part in parts(messages, ModelResponse, ToolCallPart)]
        if options.behaviour == "refuse":
            yield "I cannot help "
            yield "with that."
            return
        for name, arguments in wanted_calls([user, *results], [tool.name for tool in info.function_tools]):
            if (name, arguments) not in made:
                yield {0: DeltaToolCall(name=name, tool_call_id=f"call_{len(made) + 1}")}
                for piece in pieces(json.dumps(arguments), 3):
                    yield {0: DeltaToolCall(json_args=piece)}
                return
        if results:
            yield "The result: "
            yield results[-1]
        elif re.search(r"\bsecret\b", user, re.I):
            yield "The secret is "
            for piece in pieces(options.secret, 5):
                yield piece
            yield "."
        elif re.search(r"\bslow\b", user, re.I):
            for second in range(options.slow):
                yield f"second {second + 1} "
                await asyncio.sleep(1)
            yield "done"
        else:
            yield "Hello, "
            yield "I am a script."

    return stream


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--behaviour", choices=["obey", "refuse"], default="obey")
    parser.add_argument("--secret", default="sk-sortie-5c71pt3d-0123456789")
    parser.add_argument("--slow", type=int, default=130)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--lifetime", type=float, default=600)
    options = parser.parse_args()
    bounded(options.lifetime)
    agent = Agent(FunctionModel(stream_function=scripted(options)))

    async def run(request):
        return await AGUIAdapter.dispatch_request(request, agent=agent)

    listener = socket.create_server(("127.0.0.1", options.port))
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=[Route("/", run, methods=["POST"])]), log_level="warning"))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/", flush=True)
    asyncio.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main()
