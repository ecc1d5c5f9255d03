"""A langchain agent (langgraph, langchain-mcp-adapters) that uses MCP servers, with a scripted model.

    langchain_agent.py --model-url URL --prompt TEXT [--one-session] [OPTION]…

The other options are in surroundings.py. Prints the answer to each prompt; exit 0, or 3 when the time is up.

As the framework does it: one MCP session to list the tools, before the first prompt, and a new one for every call of a
tool; the list is never refreshed. This agent lists again for each further --prompt. With --one-session everything
happens in one session for each server.
"""

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parent))
from langchain.agents import create_agent  # noqa: E402
from langchain_core.tools import StructuredTool  # noqa: E402
from langchain_mcp_adapters.client import MultiServerMCPClient  # noqa: E402
from langchain_mcp_adapters.tools import load_mcp_tools  # noqa: E402
from langchain_openai import ChatOpenAI  # noqa: E402
from surroundings import arguments, mcp_servers, other_agents  # noqa: E402


def connection(server):
    if url := server.get("url"):
        return {"transport": "sse" if url.endswith("/sse") else "streamable_http", "url": url}
    return {"transport": "stdio", "command": server["command"], "args": server.get("args") or [], "env": server.get("env")}


async def run(options):
    model = ChatOpenAI(model="scripted", base_url=options.model_url, api_key="none", streaming=options.stream)
    servers = {name: connection(server) for name, server in mcp_servers(options).items()}
    client = MultiServerMCPClient(servers, tool_name_prefix=options.prefix)
    asking = [StructuredTool.from_function(ask, name=name, description=text) for name, text, ask in other_agents()]
    async with AsyncExitStack() as stack:
        sessions = {}
        if options.one_session:
            sessions = {name: await stack.enter_async_context(client.session(name)) for name in servers}
        history = []
        for prompt in options.prompt:
            if sessions:
                tools = [tool for session in sessions.values() for tool in await load_mcp_tools(session)]
            else:
                tools = await client.get_tools()
            agent = create_agent(model, asking + tools, system_prompt="Help the user with the tools you have.")
            asked = {"messages": [*history, {"role": "user", "content": prompt}]}
            history = (await agent.ainvoke(asked, {"recursion_limit": 1000}))["messages"]
            print(history[-1].text, flush=True)


async def main():
    parser = arguments(__doc__)
    parser.add_argument("--one-session", action="store_true", help="use one session for each server")
    options = parser.parse_args()
    try:
        async with asyncio.timeout(options.lifetime):
            await run(options)
    except TimeoutError:
        print("out of time", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
