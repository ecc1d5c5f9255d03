"""A scripted A2A 1.0 client on the Python SDK (a2a-sdk 1.x), without its compatibility mode.

    client.py URL [--lifetime 600] [--timeout 30] OPERATION…

URL is where the agent is: its card is read from URL/.well-known/agent-card.json, the rest goes to the JSON-RPC interface of
1.0 in the card; without one it fails. An operation is a method and its one argument:

    card                             GetExtendedAgentCard            ListTasks
    'SendMessage TEXT'               'SendStreamingMessage TEXT'
    'reply TEXT'                     `SendMessage` in the last task
    'GetTask [ID]'  'CancelTask [ID]'  'SubscribeToTask [ID]'        the last task if there is no ID
    'CreateTaskPushNotificationConfig URL'
    GetTaskPushNotificationConfig    ListTaskPushNotificationConfigs    DeleteTaskPushNotificationConfig

Prints JSON lines, everything as the SDK parsed it: {"op", "result"} for an answer, {"op", "event"} for each item of a
stream and {"op", "events": COUNT} at its end, {"op", "error"} for an error of A2A, {"op", "invalid"} for what the SDK could
not read.

Exit: 0 done; 1 the SDK could not read something; 2 usage; 3 no connection, or out of time.
"""

import argparse
import asyncio
import json
import sys
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientTimeoutError
from a2a.client.transports.jsonrpc import JsonRpcTransport
from a2a.types.a2a_pb2 import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    SubscribeToTaskRequest,
    TaskPushNotificationConfig,
)
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict


def say(**line):
    print(json.dumps(line), flush=True)


class Session:
    def __init__(self, http, card):
        self.card = card
        self.once = ClientFactory(ClientConfig(httpx_client=http, streaming=False)).create(card)
        self.streaming = ClientFactory(ClientConfig(httpx_client=http)).create(card)
        for client in (self.once, self.streaming):
            if type(client._transport) is not JsonRpcTransport:
                raise RuntimeError(f"the SDK speaks {type(client._transport).__name__}, which is not 1.0")
        self.task = None

    def remember(self, item):
        """What came: a task, or something that names one."""
        is_wrapped = "payload" in item.DESCRIPTOR.oneofs_by_name
        payload = getattr(item, item.WhichOneof("payload")) if is_wrapped else item
        identity = payload.id if payload.DESCRIPTOR.name == "Task" else getattr(payload, "task_id", "")
        if payload.DESCRIPTOR.name != "Message" and identity:
            self.task = (identity, getattr(payload, "context_id", ""))

    def request(self, text, task=None):
        task_id, context_id = task or ("", "")
        message = Message(
            role=Role.ROLE_USER, message_id=str(uuid4()), parts=[Part(text=text)], task_id=task_id, context_id=context_id
        )
        return SendMessageRequest(message=message)

    async def stream(self, method, events):
        count = 0
        async for event in events:
            self.remember(event)
            say(op=method, event=MessageToDict(event))
            count += 1
        say(op=method, events=count)

    async def perform(self, method, argument):
        identity = argument or (self.task[0] if self.task else "none")
        match method:
            case "card":
                result = self.card
            case "GetExtendedAgentCard":
                result = await self.once.get_extended_agent_card(GetExtendedAgentCardRequest())
            case "SendMessage" | "reply":
                sent = self.request(argument, self.task if method == "reply" else None)
                result = [event async for event in self.once.send_message(sent)][-1]
            case "SendStreamingMessage":
                return await self.stream(method, self.streaming.send_message(self.request(argument)))
            case "GetTask":
                result = await self.once.get_task(GetTaskRequest(id=identity))
            case "ListTasks":
                result = await self.once.list_tasks(ListTasksRequest())
            case "CancelTask":
                result = await self.once.cancel_task(CancelTaskRequest(id=identity))
            case "SubscribeToTask":
                return await self.stream(method, self.streaming.subscribe(SubscribeToTaskRequest(id=identity)))
            case "CreateTaskPushNotificationConfig":
                task = self.task[0] if self.task else "none"
                config = TaskPushNotificationConfig(task_id=task, id="config-1", url=argument, token="token-1")
                result = await self.once.create_task_push_notification_config(config)
            case "GetTaskPushNotificationConfig":
                wanted = GetTaskPushNotificationConfigRequest(task_id=identity, id="config-1")
                result = await self.once.get_task_push_notification_config(wanted)
            case "ListTaskPushNotificationConfigs":
                wanted = ListTaskPushNotificationConfigsRequest(task_id=identity)
                result = await self.once.list_task_push_notification_configs(wanted)
            case "DeleteTaskPushNotificationConfig":
                wanted = DeleteTaskPushNotificationConfigRequest(task_id=identity, id="config-1")
                await self.once.delete_task_push_notification_config(wanted)
                return say(op=method, result=None)
            case _:
                sys.exit(f"there is no operation `{method}`")
        if method in ("SendMessage", "reply"):
            self.remember(result)
        say(op=method, result=MessageToDict(result))


async def run(options):
    invalid = 0
    async with httpx.AsyncClient(timeout=options.timeout) as http:
        card = await A2ACardResolver(http, options.url).get_agent_card()
        session = Session(http, card)
        for operation in options.operation:
            method, _, argument = operation.partition(" ")
            try:
                await session.perform(method, argument)
            except A2AClientTimeoutError:
                raise
            except A2AError as error:
                say(op=method, error={"type": type(error).__name__, "message": str(error)})
            except Exception as error:  # protobuf's, and the states the SDK does not expect
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
