"""A pydantic-ai agent that uses MCP servers, with a scripted model.

    pydantic_agent.py --model-url URL --prompt TEXT [--relist] [OPTION]…

The other options are in surroundings.py. Prints the answer to each prompt; exit 0, or 3 when the time is up.

As the framework does it: one MCP session for a run, opened with the run; tools are listed before the first request to
the model and kept until `notifications/tools/list_changed`. With --relist (`cache_tools=False`, a documented option
of the framework) they are listed before every request to the model.
"""

import asyncio
import inspect
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, str(Path(__file__).parent))
from fastmcp.client.transports import StdioTransport  # noqa: E402
from pydantic_ai import Agent, Tool, UsageLimits  # noqa: E402
from pydantic_ai.mcp import MCPToolset  # noqa: E402
from pydantic_ai.models.openai import OpenAIChatModel  # noqa: E402
from pydantic_ai.providers.openai import OpenAIProvider  # noqa: E402
from surroundings import arguments, mcp_servers, other_agents  # noqa: E402


def toolset(name, server, options):
    target = server.get("url") or StdioTransport(server["command"], server.get("args") or [], server.get("env"))
    # A tool that fails is shown to the model, instead of ending the run after a second attempt.
    # A real server may stand behind it, which takes its time to start; the default is 5 seconds.
    slow = {"init_timeout": 60, "cache_tools": not options.relist}
    made = MCPToolset(target, id=name, tool_error_behavior="failed", **slow)
    return made.prefixed(name) if options.prefix else made


async def run(options):
    agent = Agent(
        OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=options.model_url, api_key="none")),
        instructions="Help the user with the tools you have.",
        tools=[Tool(ask, name=name, description=text) for name, text, ask in other_agents()],
        toolsets=[toolset(name, server, options) for name, server in mcp_servers(options).items()],
    )
    history = []
    async with agent:
        for prompt in options.prompt:
            limits = UsageLimits(request_limit=None)
            if options.stream:
                async with agent.run_stream(prompt, message_history=history, usage_limits=limits) as result:
                    answer = await result.get_output()
            else:
                result = await agent.run(prompt, message_history=history, usage_limits=limits)
                answer = result.output
            messages = result.all_messages()
            history = await messages if inspect.isawaitable(messages) else messages
            print(answer, flush=True)


async def main():
    parser = arguments(__doc__)
    parser.add_argument("--relist", action="store_true", help="list the tools before every request to the model")
    options = parser.parse_args()
    try:
        async with asyncio.timeout(options.lifetime):
            await run(options)
    except TimeoutError:
        print("out of time", file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
