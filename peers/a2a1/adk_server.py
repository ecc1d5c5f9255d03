"""An agent of google-adk, served over A2A 1.0 by `to_a2a`: it repeats what it is told.

    adk_server.py [--port 0] [--lifetime 600]

The first line on standard output is its URL. There is no model inside: the agent is a class of ours.
"""

import argparse
import asyncio
import logging
import socket
import sys
import warnings
from pathlib import Path

warnings.simplefilter("ignore")  # ADK calls its A2A support experimental, once for each class

import uvicorn  # noqa: E402
from google.adk.a2a.utils.agent_to_a2a import to_a2a  # noqa: E402
from google.adk.agents import BaseAgent  # noqa: E402
from google.adk.events import Event  # noqa: E402
from google.genai import types  # noqa: E402

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parents[1]))
from lifetime import bounded  # noqa: E402


class Echo(BaseAgent):
    async def _run_async_impl(self, context):
        said = " ".join(part.text or "" for part in context.user_content.parts)
        content = types.Content(role="model", parts=[types.Part(text=f"echo: {said}")])
        yield Event(author=self.name, invocation_id=context.invocation_id, content=content)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--lifetime", type=float, default=600)
    options = parser.parse_args()
    bounded(options.lifetime)
    logging.disable(logging.ERROR)
    listener = socket.create_server(("127.0.0.1", options.port))
    port = listener.getsockname()[1]
    agent = Echo(name="echo", description="Repeats what it is told")
    application = to_a2a(agent, host="127.0.0.1", port=port)
    server = uvicorn.Server(uvicorn.Config(application, log_level="warning"))
    print(f"http://127.0.0.1:{port}/", flush=True)
    asyncio.run(server.serve(sockets=[listener]))


if __name__ == "__main__":
    main()
