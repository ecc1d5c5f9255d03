"""Exports the spans of an agent with an exporter of OpenTelemetry, and writes the same spans to a file as the collector would."""

import json
import sys
import time

from opentelemetry.exporter.otlp.json.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

ENDPOINT, ENCODING, COPY, TRACES, PAUSE = sys.argv[1:6]


def exporter():
    if ENCODING == "json":
        from opentelemetry.exporter.otlp.json.http.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter(endpoint=ENDPOINT, timeout=60)
    from opentelemetry.exporter.otlp.proto.http import Compression
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    compression = Compression.Gzip if ENCODING == "protobuf+gzip" else Compression.NoCompression
    return OTLPSpanExporter(endpoint=ENDPOINT, timeout=60, compression=compression)


class Both(SpanExporter):
    """The real exporter. What it delivered is written down, and what it could not deliver fails the program."""

    def __init__(self, inner, copy):
        self.inner, self.copy, self.failed = inner, copy, 0

    def export(self, spans):
        result = self.inner.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.copy.write(encode_spans(spans).to_json() + "\n")
        else:
            self.failed += len(spans)
        return result

    def shutdown(self):
        self.inner.shutdown()


copy = open(COPY, "w")
both = Both(exporter(), copy)
provider = TracerProvider(resource=Resource.create({"service.name": "agent"}))
provider.add_span_processor(BatchSpanProcessor(both, schedule_delay_millis=100, export_timeout_millis=120_000))
tracer = provider.get_tracer("test")
for number in range(int(TRACES)):
    with tracer.start_as_current_span("invoke_agent helper") as agent:
        agent.set_attribute("gen_ai.operation.name", "invoke_agent")
        for step in range(3):
            with tracer.start_as_current_span("execute_tool read") as tool:
                path = f"/home/user/.ssh/id_rsa{number}" if step == 1 else f"notes-{number}.txt"
                tool.set_attribute("gen_ai.operation.name", "execute_tool")
                tool.set_attribute("gen_ai.tool.name", "read")
                tool.set_attribute("gen_ai.tool.call.id", f"call-{number}-{step}")
                tool.set_attribute("gen_ai.tool.call.arguments", json.dumps({"path": path}))
                tool.set_attribute("gen_ai.tool.call.result", json.dumps("contents"))
    time.sleep(float(PAUSE))
provider.shutdown()
copy.close()
print(f"{both.failed} failed", file=sys.stderr)
sys.exit(1 if both.failed else 0)
