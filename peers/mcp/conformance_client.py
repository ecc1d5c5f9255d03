"""The client that the official conformance suite starts, on the Python SDK (mcp 2.3): `client.py`, with what a scenario wants done.

    conformance_client.py URL

The suite appends the URL. It says in MCP_CONFORMANCE_SCENARIO what is tested, in MCP_CONFORMANCE_PROTOCOL_VERSION in which
revision (0.1.16 says nothing, and means 2025-11-25), and in MCP_CONFORMANCE_CONTEXT which calls it wants.
"""

import json
import os
import sys
from pathlib import Path


def call(name, **arguments):
    return "tools/call " + json.dumps({"name": name, "arguments": arguments})


SCENARIOS = {
    "initialize": ["tools/list"],
    "tools_call": ["tools/list", call("add_numbers", a=5, b=3)],
    "elicitation-sep1034-client-defaults": [call("test_client_elicitation_defaults")],
    "sse-retry": [call("test_reconnection")],
    "request-metadata": ["tools/list"],
    "sep-2322-client-request-state": [
        "tools/list",
        call("test_mrtr_echo_state"),
        call("test_mrtr_no_state"),
        call("test_mrtr_unrelated"),
        call("test_mrtr_no_result_type"),
    ],
    "http-standard-headers": [
        "tools/list",
        call("test_headers"),
        "resources/list",
        'resources/read {"uri": "file:///path/to/file%20name.txt"}',
        "prompts/list",
        'prompts/get {"name": "test_prompt"}',
    ],
    "http-custom-headers": ["tools/list"],
    "http-invalid-tool-headers": ["tools/list", call("valid_tool", region="north")],
    "json-schema-ref-no-deref": ["tools/list"],
}


def main():
    (url,) = sys.argv[1:]
    operations = SCENARIOS[os.environ["MCP_CONFORMANCE_SCENARIO"]]
    wanted = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")).get("toolCalls", [])
    operations += [call(one["name"], **one["arguments"]) for one in wanted]
    stateless = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION") == "2026-07-28"
    client = str(Path(__file__).with_name("client.py"))
    protocol = "auto" if stateless else "legacy"
    os.execv(sys.executable, [sys.executable, client, "--http", url, "--protocol", protocol, *operations])


if __name__ == "__main__":
    main()
