"""One of the agents beside it, with its telemetry written to a file.

    recorded_agent.py --telemetry FILE --dialect WORD AGENT.py ARGUMENT…

| dialect | agent | what the file is |
|---|---|---|
| genai | pydantic_agent.py | OTLP JSON Lines: the spans of pydantic-ai itself (GenAI conventions), and of the MCP SDK |
| openinference | langchain_agent.py | OTLP JSON Lines: the spans of `openinference-instrumentation-langchain` |
| openllmetry | langchain_agent.py | OTLP JSON Lines: the spans of `opentelemetry-instrumentation-langchain` |
| langsmith | langchain_agent.py | runs as JSON Lines: what the `langsmith` client posts, to a server in this process |

With --no-content the content of messages is not recorded, by the setting that each of them has.
A line of OTLP is what the collector's file exporter writes: the request that was exported, with ids in hex.
"""

import argparse
import asyncio
import base64
import json
import os
import runpy
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def in_hex(value):
    """The ids of a request as the collector writes them: protobuf's own JSON has them in base64."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in ("traceId", "spanId", "parentSpanId") and isinstance(inner, str):
                value[key] = base64.b64decode(inner).hex()
            else:
                in_hex(inner)
    elif isinstance(value, list):
        for inner in value:
            in_hex(inner)
    return value


def otlp(path, content, dialect):
    from google.protobuf.json_format import MessageToDict
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

    class ToFile(SpanExporter):
        def export(self, spans):
            line = json.dumps(in_hex(MessageToDict(encode_spans(spans))), separators=(",", ":"), ensure_ascii=False)
            with open(path, "a", encoding="utf-8") as file:
                file.write(line + "\n")
            return SpanExportResult.SUCCESS

    provider = TracerProvider(resource=Resource({"service.name": "agent"}))
    provider.add_span_processor(SimpleSpanProcessor(ToFile()))
    trace.set_tracer_provider(provider)
    if dialect == "genai":
        from pydantic_ai import Agent, InstrumentationSettings

        Agent.instrument_all(InstrumentationSettings(include_content=content))
    elif dialect == "openinference":
        from openinference.instrumentation import TraceConfig
        from openinference.instrumentation.langchain import LangChainInstrumentor

        hidden = TraceConfig(hide_inputs=not content, hide_outputs=not content)
        LangChainInstrumentor().instrument(tracer_provider=provider, config=hidden)
    else:
        os.environ["TRACELOOP_TRACE_CONTENT"] = str(content).lower()
        from opentelemetry.instrumentation.langchain import LangchainInstrumentor

        LangchainInstrumentor().instrument(tracer_provider=provider)
    return provider.shutdown


def langsmith(path, content):
    """What the client posts is put together by id, and written in the order in which it was begun."""
    runs = {}

    class Runs(BaseHTTPRequestHandler):
        def take(self):
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
            run = runs.setdefault(body.get("id") or self.path.rsplit("/", 1)[-1], {})
            run.update({key: value for key, value in body.items() if value is not None or key not in run})
            self.send_response(202)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_POST = do_PATCH = take

        def do_GET(self):
            self.send_response(404)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Runs)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    os.environ.update(LANGSMITH_TRACING="true", LANGSMITH_ENDPOINT=url, LANGSMITH_API_KEY="none")
    if not content:
        os.environ.update(LANGSMITH_HIDE_INPUTS="true", LANGSMITH_HIDE_OUTPUTS="true")
    from langchain_core.tracers import langchain as tracer
    from langsmith import Client

    client = Client(api_url=url, api_key="none", auto_batch_tracing=False)
    tracer.get_client = lambda: client

    def write():
        tracer.wait_for_all_tracers()
        with open(path, "a", encoding="utf-8") as file:
            for run in runs.values():
                # What names the machine is no part of a recording.
                run.get("extra", {}).pop("runtime", None)
                file.write(json.dumps(run, separators=(",", ":"), ensure_ascii=False) + "\n")

    return write


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--telemetry", required=True)
    parser.add_argument("--dialect", choices=["genai", "openinference", "openllmetry", "langsmith"], required=True)
    parser.add_argument("--no-content", action="store_true")
    parser.add_argument("agent")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    content = not options.no_content
    if options.dialect == "langsmith":
        finish = langsmith(options.telemetry, content)
    else:
        finish = otlp(options.telemetry, content, options.dialect)
    agent = Path(__file__).parent / options.agent
    sys.argv = [str(agent), *options.arguments]
    sys.path.insert(0, str(agent.parent))
    module = runpy.run_path(str(agent))
    try:
        code = asyncio.run(module["main"]())
    finally:
        finish()
    return code


if __name__ == "__main__":
    sys.dont_write_bytecode = True  # the source tree stays as it is
    sys.exit(main())
