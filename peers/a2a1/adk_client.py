"""An agent of google-adk that uses another agent over A2A (`RemoteA2aAgent`), for one turn.

    adk_client.py URL TEXT [--lifetime 600]

Sends TEXT to the agent at URL, whose card is read from URL/.well-known/agent-card.json. Prints JSON lines: {"event": TEXT}
for each text that comes back, {"error": …} for what ADK calls an error. Exit: 0 done; 1 an error; 3 no connection.
"""

import argparse
import asyncio
import json
import logging
import sys
import warnings

warnings.simplefilter("ignore")  # ADK calls its A2A support experimental, once for each class

from google.adk.agents.remote_a2a_agent import RemoteA2aAgent  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.genai import types  # noqa: E402


def say(**line):
    print(json.dumps(line), flush=True)


async def run(options):
    card = options.url.rstrip("/") + "/.well-known/agent-card.json"
    remote = RemoteA2aAgent(name="peer", description="Another agent", agent_card=card)
    runner = InMemoryRunner(agent=remote, app_name="peers")
    session = await runner.session_service.create_session(app_name="peers", user_id="user")
    said = types.Content(role="user", parts=[types.Part(text=options.text)])
    failed = 0
    async for event in runner.run_async(user_id="user", session_id=session.id, new_message=said):
        if event.error_message:
            failed = 1
            say(error=event.error_message)
        for part in (event.content.parts if event.content else None) or []:
            if part.text:
                say(event=part.text)
    return failed


async def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("text")
    parser.add_argument("--lifetime", type=float, default=600)
    options = parser.parse_args()
    logging.disable(logging.ERROR)
    try:
        async with asyncio.timeout(options.lifetime):
            return await run(options)
    except Exception as error:
        say(failed=f"{type(error).__name__}: {error}")
        return 3


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
