"""An A2A 0.3 agent on the Python SDK (a2a-sdk) in front of an agent behind a chat endpoint.

    bridge.py --chat URL [--echo] [--log FILE] [--port 0] [--lifetime 600]

The first line on standard output is its URL. Each message becomes a request to the chat endpoint, with what was said
in the same context before; the answer is the one artifact of a task that is completed. What the agent calls is not
shown: A2A has no place for it. With --echo answers repeat the headers of the request.
"""

import argparse
import asyncio
import json
import socket
import sys
from collections import defaultdict
from pathlib import Path

import httpx
import uvicorn
from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentSkill, Part, TextPart
from a2a.utils import new_task

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parents[1]))
from lifetime import bounded  # noqa: E402


class Bridge(AgentExecutor):
    def __init__(self, chat, echo):
        self.chat, self.echo = chat, echo
        self.client = httpx.AsyncClient(timeout=60)
        self.said = defaultdict(list)

    async def execute(self, context, event_queue):
        task = context.current_task
        if not task:
            task = new_task(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        said = self.said[task.context_id]
        said.append({"role": "user", "content": context.get_user_input()})
        answer = await self.client.post(f"{self.chat}/chat/completions", json={"model": "shop", "messages": said})
        answer.raise_for_status()
        text = answer.json()["choices"][0]["message"]["content"]
        said.append({"role": "assistant", "content": text})
        if self.echo and context.call_context:
            text = f"{text} I was sent {json.dumps(context.call_context.state.get('headers'))}."
        await updater.add_artifact([Part(root=TextPart(text=text))], name="answer")
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def application(url, options):
    card = AgentCard(
        name="Shop",
        description="Helps customers of the paper mill",
        url=url,
        version="1.0.0",
        protocol_version="0.3.0",
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        capabilities=AgentCapabilities(streaming=False),
        skills=[AgentSkill(id="help", name="Help", description="Answers questions about orders", tags=["orders"])],
    )
    handler = DefaultRequestHandler(agent_executor=Bridge(options.chat, options.echo), task_store=InMemoryTaskStore())
    inner = A2AStarletteApplication(agent_card=card, http_handler=handler).build()

    async def noted(scope, receive, send):
        if options.log and scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            with open(options.log, "a") as file:
                file.write(json.dumps({"path": scope["path"], "headers": headers}) + "\n")
        await inner(scope, receive, send)

    return noted


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chat", required=True)
    parser.add_argument("--echo", action="store_true", help="repeat the headers in every answer")
    parser.add_argument("--log", help="where to write the headers of each request, as a JSON line")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--lifetime", type=float, default=600)
    options = parser.parse_args()
    bounded(options.lifetime)
    listener = socket.create_server(("127.0.0.1", options.port))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    server = uvicorn.Server(uvicorn.Config(application(url, options), log_level="warning"))
    print(url, flush=True)
    asyncio.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main()
