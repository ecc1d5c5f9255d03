"""A scripted A2A 0.3 client on the Python SDK (a2a-sdk).

    client.py URL [--lifetime 600] [--timeout 30] OPERATION…

URL is where the agent is: its card is read from URL/.well-known/agent-card.json, the rest goes to the URL in the card.
An operation is a method and its one argument:

    agent_card/get                              agent/getAuthenticatedExtendedCard
    'message/send TEXT'                         'message/stream TEXT'
    'reply TEXT'                                `message/send` in the last task
    'tasks/get [ID]'  'tasks/cancel [ID]'  'tasks/resubscribe [ID]'       the last task if there is no ID
    'tasks/pushNotificationConfig/set URL'      'tasks/pushNotificationConfig/get [ID]'

Prints JSON lines, everything as the SDK parsed it: {"op", "result"} for an answer, {"op", "event"} for each item of a
stream and {"op", "events": COUNT} at its end, {"op", "error": {code, message}} for a JSON-RPC error, {"op", "invalid"}
for what the SDK could not read. It does not say more than the SDK does: a `message/stream` to an agent whose card has
no `capabilities.streaming` becomes a `message/send`.

Exit: 0 done; 1 the SDK could not read something; 2 usage; 3 no connection, or out of time.
"""

import argparse
import asyncio
import json
import sys
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError, A2AClientTimeoutError
from a2a.types import (
    GetTaskPushNotificationConfigParams,
    Message,
    Part,
    PushNotificationConfig,
    Role,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TextPart,
)


def say(**line):
    print(json.dumps(line), flush=True)


def plain(model):
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)


class Session:
    def __init__(self, http, card):
        self.card = card
        self.once = ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(card)
        self.streaming = ClientFactory(ClientConfig(httpx_client=http)).create(card)
        self.task = None

    def remember(self, item):
        kind = getattr(item, "kind", None)
        identity = item.id if kind == "task" else getattr(item, "task_id", None)
        if kind and identity:
            self.task = (identity, item.context_id)

    def message(self, text, task=None):
        parts = [Part(root=TextPart(text=text))]
        task_id, context_id = task or (None, None)
        return Message(role=Role.user, message_id=str(uuid4()), parts=parts, task_id=task_id, context_id=context_id)

    async def stream(self, method, events):
        count = 0
        async for event in events:
            # The SDK pairs each update with the task as it is by then; the update is what came.
            item = (event[1] or event[0]) if isinstance(event, tuple) else event
            self.remember(item)
            say(op=method, event=plain(item))
            count += 1
        say(op=method, events=count)

    async def perform(self, method, argument):
        identity = argument or (self.task[0] if self.task else "none")
        match method:
            case "agent_card/get":
                result = self.card
            case "agent/getAuthenticatedExtendedCard":
                result = await self.once.get_card()
            case "message/send" | "reply":
                sent = self.message(argument, self.task if method == "reply" else None)
                result = [event async for event in self.once.send_message(sent)][-1]
                result = result[0] if isinstance(result, tuple) else result
            case "message/stream":
                return await self.stream(method, self.streaming.send_message(self.message(argument)))
            case "tasks/get":
                result = await self.once.get_task(TaskQueryParams(id=identity))
            case "tasks/cancel":
                result = await self.once.cancel_task(TaskIdParams(id=identity))
            case "tasks/resubscribe":
                return await self.stream(method, self.streaming.resubscribe(TaskIdParams(id=identity)))
            case "tasks/pushNotificationConfig/set":
                config = PushNotificationConfig(id="config-1", url=argument, token="token-1")
                task = self.task[0] if self.task else "none"
                config = TaskPushNotificationConfig(task_id=task, push_notification_config=config)
                result = await self.once.set_task_callback(config)
            case "tasks/pushNotificationConfig/get":
                wanted = GetTaskPushNotificationConfigParams(id=identity, push_notification_config_id="config-1")
                result = await self.once.get_task_callback(wanted)
            case _:
                sys.exit(f"there is no operation `{method}`")
        self.remember(result)
        say(op=method, result=plain(result))


async def run(options):
    invalid = 0
    async with httpx.AsyncClient(timeout=options.timeout) as http:
        card = await A2ACardResolver(http, options.url).get_agent_card()
        session = Session(http, card)
        for operation in options.operation:
            method, _, argument = operation.partition(" ")
            try:
                await session.perform(method, argument)
            except A2AClientJSONRPCError as error:
                say(op=method, error=plain(error.error))
            except (A2AClientHTTPError, A2AClientTimeoutError):
                raise
            except Exception as error:  # pydantic's, and the states the SDK does not expect
                invalid += 1
                say(op=method, invalid=f"{type(error).__name__}: {error}")
    return 1 if invalid else 0


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("operation", nargs="+")
    parser.add_argument("--timeout", type=float, default=30)
    parser.add_argument("--lifetime", type=float, default=600)
    options = parser.parse_args()
    try:
        async with asyncio.timeout(options.lifetime):
            return await run(options)
    except Exception as error:
        say(failed=f"{type(error).__name__}: {error}")
        return 3


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
