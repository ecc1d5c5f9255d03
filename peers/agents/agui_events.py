"""An AG-UI agent that sends every type of event there is, once, with the encoder of the Python SDK (ag-ui-protocol 1.0).

    agui_events.py [--port 0] [--lifetime 600]

The first line on standard output is the URL to POST a RunAgentInput to. A type that this program knows no example of ends it
with an error before it listens, so that a new version of the SDK is noticed.
"""

import argparse
import asyncio
import socket
import sys
from pathlib import Path

import uvicorn
from ag_ui.core import EventType, RunAgentInput
from ag_ui.core import events as of_sdk
from ag_ui.encoder import EventEncoder
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parents[1]))
from lifetime import bounded  # noqa: E402

INTERRUPT = {"id": "i1", "reason": "approval", "message": "May I pay canary-31?", "tool_call_id": "c1"}

# In an order that a client accepts. Texts come in two pieces.
EVENTS = [
    ("RUN_STARTED", {"thread_id": "t", "run_id": "r", "protocol_version": "1.0"}),
    ("STEP_STARTED", {"step_name": "canary-01"}),
    ("REASONING_START", {"message_id": "canary-02"}),
    ("REASONING_MESSAGE_START", {"message_id": "m1", "role": "reasoning"}),
    ("REASONING_MESSAGE_CONTENT", {"message_id": "m1", "delta": "the user wants can"}),
    ("REASONING_MESSAGE_CONTENT", {"message_id": "m1", "delta": "ary-03"}),
    ("REASONING_MESSAGE_END", {"message_id": "m1"}),
    ("REASONING_MESSAGE_CHUNK", {"message_id": "m2", "delta": "so I say can"}),
    ("REASONING_MESSAGE_CHUNK", {"message_id": "m2", "delta": "ary-04"}),
    ("REASONING_ENCRYPTED_VALUE", {"subtype": "message", "entity_id": "m1", "encrypted_value": "canary-05"}),
    ("REASONING_END", {"message_id": "canary-02"}),
    ("TEXT_MESSAGE_START", {"message_id": "m3", "role": "assistant"}),
    ("TEXT_MESSAGE_CONTENT", {"message_id": "m3", "delta": "can"}),
    ("TEXT_MESSAGE_CONTENT", {"message_id": "m3", "delta": "ary-06"}),
    ("TEXT_MESSAGE_END", {"message_id": "m3"}),
    ("TEXT_MESSAGE_CHUNK", {"message_id": "m4", "role": "assistant", "delta": "canary-07"}),
    ("TOOL_CALL_START", {"tool_call_id": "c1", "tool_call_name": "pay"}),
    ("TOOL_CALL_ARGS", {"tool_call_id": "c1", "delta": '{"to": "canary-08"}'}),
    ("TOOL_CALL_END", {"tool_call_id": "c1"}),
    ("TOOL_CALL_CHUNK", {"tool_call_id": "c2", "tool_call_name": "pay", "delta": '{"to": "canary-09"}'}),
    ("TOOL_CALL_RESULT", {"message_id": "m5", "tool_call_id": "c2", "content": "canary-10", "role": "tool"}),
    ("STATE_SNAPSHOT", {"snapshot": {"key": "canary-11"}}),
    ("STATE_DELTA", {"delta": [{"op": "add", "path": "/x", "value": "canary-12"}]}),
    ("MESSAGES_SNAPSHOT", {"messages": [{"id": "m6", "role": "user", "content": "canary-13"}]}),
    ("ACTIVITY_SNAPSHOT", {"message_id": "m7", "activity_type": "PLAN", "content": {"step": "canary-14"}}),
    ("ACTIVITY_DELTA", {"message_id": "m7", "activity_type": "PLAN", "patch": [{"op": "add", "path": "/y", "value": "canary-15"}]}),
    ("SUBAGENT_STARTED", {"subagent_run_id": "s1", "name": "canary-16", "description": "Looks things up"}),
    ("SUBAGENT_FINISHED", {"subagent_run_id": "s1", "result": {"found": "canary-17"}}),
    ("SUBAGENT_STARTED", {"subagent_run_id": "s2", "name": "other"}),
    ("SUBAGENT_ERROR", {"subagent_run_id": "s2", "message": "canary-18"}),
    ("RAW", {"event": {"of": "canary-19"}, "source": "model"}),
    ("CUSTOM", {"name": "note", "value": {"of": "canary-20"}}),
    ("STEP_FINISHED", {"step_name": "canary-01"}),
    ("RUN_FINISHED", {"thread_id": "t", "run_id": "r", "outcome": {"type": "interrupt", "interrupts": [INTERRUPT]}}),
]
# It ends a run as `RUN_FINISHED` does: the second run ends with it.
FAILED = [
    ("RUN_STARTED", {"thread_id": "t", "run_id": "r2"}),
    ("RUN_ERROR", {"message": "canary-21", "code": "e"}),
]


def encoded(events):
    encoder = EventEncoder()
    for kind, members in events:
        name = "".join(word.capitalize() for word in kind.split("_")) + "Event"
        yield encoder.encode(getattr(of_sdk, name)(type=EventType(kind), **members))


async def answer(request):
    asked = RunAgentInput.model_validate(await request.json())
    events = FAILED if asked.run_id == "fail" else EVENTS
    return StreamingResponse(encoded(events), media_type="text/event-stream")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--lifetime", type=float, default=600)
    options = parser.parse_args()
    bounded(options.lifetime)
    missing = {kind.value for kind in EventType} - {kind for kind, _ in EVENTS + FAILED}
    if missing:
        sys.exit(f"there is no example of {sorted(missing)}")
    list(encoded(EVENTS + FAILED))
    listener = socket.create_server(("127.0.0.1", options.port))
    application = Starlette(routes=[Route("/", answer, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(application, log_level="warning"))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/", flush=True)
    asyncio.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main()
