"""What an agent is told about its surroundings: the command line, the servers, the other agents.

Both agents take the same arguments:

    --model-url URL      base URL of an OpenAI-compatible server (such as model.py prints)
    --prompt TEXT        what the user says; repeatable: one turn after the other in one conversation
    --mcp-config PATH    an mcp.json in the `mcpServers` form; instead of what the environment says
    --prefix             put the server's name before the names of its tools
    --stream             ask the model for streaming answers
    --lifetime SECONDS   give up after this long (600), with exit code 3

MCP servers: SORTIE_MCP_URL, and each SORTIE_URL_<ACTOR> that ends in /mcp; if there is none, the file that
SORTIE_MCP_CONFIG names. Other agents: SORTIE_A2A_URL, and each other SORTIE_URL_<ACTOR>, become a tool each
(`ask_agent`, `ask_<actor>`) that reads the card, and sends a text with `message/send` to the URL in it.
"""

import argparse
import json
import os
import urllib.request
import uuid


def arguments(description):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model-url", required=True)
    parser.add_argument("--prompt", action="append", required=True)
    parser.add_argument("--mcp-config")
    parser.add_argument("--prefix", action="store_true")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--lifetime", type=float, default=600)
    return parser


def urls():
    """The addresses in the environment: {actor: URL}, each URL once."""
    found = {}
    for variable, url in sorted(os.environ.items()):
        if variable.startswith("SORTIE_URL_") and url:
            found[variable.removeprefix("SORTIE_URL_").lower()] = url
    for name, variable in [("server", "SORTIE_MCP_URL"), ("agent", "SORTIE_A2A_URL")]:
        url = os.environ.get(variable)
        if url and url not in found.values():
            found[name] = url
    return found


def is_mcp(url):
    return url.rstrip("/").endswith(("/mcp", "/sse"))


def mcp_servers(options):
    """The MCP servers: {name: {"url"} or {"command", "args", "env"}}."""
    servers = {name: {"url": url} for name, url in urls().items() if is_mcp(url)}
    config = options.mcp_config or (None if servers else os.environ.get("SORTIE_MCP_CONFIG"))
    if config:
        with open(config, encoding="utf-8") as file:
            servers = json.load(file)["mcpServers"]
    return servers


def request(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(
        urllib.request.Request(url, data, {"content-type": "application/json"}), timeout=30
    ) as response:
        return json.load(response)


def asking(card):
    def ask(text: str) -> str:
        message = {
            "kind": "message",
            "role": "user",
            "messageId": str(uuid.uuid4()),
            "parts": [{"kind": "text", "text": text}],
        }
        call = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}
        answer = request(card["url"], call)
        return json.dumps(answer.get("result", answer.get("error")))

    return ask


def other_agents():
    """The agents one can ask: (name of the tool, its description, the function)."""
    for name, url in urls().items():
        if not is_mcp(url):
            card = request(url.rstrip("/") + "/.well-known/agent-card.json")
            skills = " ".join(str(skill.get("description", "")) for skill in card.get("skills", []))
            description = f"Asks the agent {card.get('name')}. {card.get('description', '')} {skills}"
            yield f"ask_{name}", description, asking(card)
