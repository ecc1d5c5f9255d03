"""An A2A 1.0 agent on the Python SDK (a2a-sdk 1.x), without its compatibility mode: it repeats what it is told.

    server.py [--port 0] [--lifetime 600]

The first line on standard output is its URL. It speaks JSON-RPC and knows no method of 0.3. What the first word of a text
does:

    message: …   answers with a message, no task
    input: …     a task that asks for more input
    fail: …      a task that fails
    slow: …      a task that works until it is cancelled, for at most a minute, one status a second
    anything     submitted, working, one artifact in a chunk for each word, completed
"""

import argparse
import asyncio
import socket
import sys
from pathlib import Path

import httpx
import uvicorn
from a2a.helpers.proto_helpers import new_task_from_user_message, new_text_message
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
    TaskUpdater,
)
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    Part,
    Role,
    TaskState,
)
from starlette.applications import Starlette

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parents[1]))
from lifetime import bounded  # noqa: E402


class Echo(AgentExecutor):
    async def execute(self, context, event_queue):
        text = context.get_user_input()
        if text.startswith("message:"):
            answer = new_text_message(f"echo: {text}", context_id=context.context_id, role=Role.ROLE_AGENT)
            await event_queue.enqueue_event(answer)
            return
        task = context.current_task
        if not task:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)

        def message(words):
            return updater.new_agent_message([Part(text=words)])

        await updater.start_work(message("working on it"))
        if text.startswith("input:"):
            await updater.requires_input(message("what else?"))
        elif text.startswith("fail:"):
            await updater.failed(message("it failed"))
        elif text.startswith("slow:"):
            for second in range(60):
                await asyncio.sleep(1)
                await updater.update_status(TaskState.TASK_STATE_WORKING, message(f"second {second + 1}"))
            await updater.complete()
        else:
            words = f"echo: {text}".split()
            for number, word in enumerate(words):
                await updater.add_artifact(
                    [Part(text=word + " ")],
                    artifact_id="echo",
                    name="echo",
                    append=number > 0,
                    last_chunk=number == len(words) - 1,
                )
            await updater.complete(message("done"))

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def application(url):
    card = AgentCard(
        name="Echo (Python, 1.0)",
        description="Repeats what it is told",
        version="1.0.0",
        supported_interfaces=[AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")],
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        capabilities=AgentCapabilities(streaming=True, push_notifications=True),
        skills=[AgentSkill(id="echo", name="Echo", description="Repeats a text", tags=["echo"])],
    )
    configs = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        agent_executor=Echo(),
        task_store=InMemoryTaskStore(),
        agent_card=card,
        push_config_store=configs,
        push_sender=BasePushNotificationSender(httpx.AsyncClient(), configs),
    )
    routes = create_agent_card_routes(card) + create_jsonrpc_routes(handler, rpc_url="/", enable_v0_3_compat=False)
    return Starlette(routes=routes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--lifetime", type=float, default=600)
    options = parser.parse_args()
    bounded(options.lifetime)
    listener = socket.create_server(("127.0.0.1", options.port))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    server = uvicorn.Server(uvicorn.Config(application(url), log_level="warning"))
    print(url, flush=True)
    asyncio.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main()
