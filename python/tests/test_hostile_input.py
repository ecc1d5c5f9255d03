"""Hostile input is refused with an exception that says why. Nothing here may end the process, or raise a `PanicException`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import sortie

HEADER = '{"record":"header","version":1,"origin":"foreign","written_by":"me","time":"2026-11-17T10:00:00Z"}\n'

TEXTS = {
    "nothing": "",
    "no text": b"\xff\xfe\x00",
    "zeros": "\0\n" * 1000,
    "deep lists": "[" * 100_000 + "\n",
    "deep maps": "\n".join(" " * depth + "a:" for depth in range(2_000)),
    "aliases": "\n".join(["a: &a [x, x]"] + [f"b{n}: &b{n} [*{'a' if n == 0 else f'b{n - 1}'}, *a]" for n in range(60)]),
    "one key": "x" * 1_000_000 + ":\n",
    "too long": "# " + "x" * 20_000_000 + "\n",
    "many keys": "".join(f"k{n}: 1\n" for n in range(100_000)),
    "tags": "!!python/object/apply:os.system ['true']\n",
    "a regex": 'oatf: "0.1"\nattack:\n  execution: {mode: mcp_server, state: {tools: []}}\n'
    '  indicators: [{surface: tools/call, target: a, pattern: {regex: "' + "(a{1,1000}){1,1000}" * 20 + '"}}]\n',
    "an expression": 'oatf: "0.1"\nattack:\n  execution: {mode: mcp_server, state: {tools: []}}\n'
    '  indicators: [{surface: tools/call, target: a, expression: {cel: "' + "(" * 50_000 + '"}}]\n',
    "control characters": "\x1b[31m: \u202e\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_document_is_refused(name: str, tmp_path: Path) -> None:
    text = TEXTS[name]
    findings = sortie.check(text)
    assert any(finding.severity == "error" for finding in findings)
    with pytest.raises(sortie.InvalidDocument) as caught:
        sortie.load(text if isinstance(text, bytes) else text.encode())
    assert len(str(caught.value)) < 1_000_000
    path = tmp_path / "hostile.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(sortie.InvalidDocument):
        sortie.load(path)
    assert any(finding.severity == "error" for finding in sortie.check(path))


def deep(levels: int) -> list:
    value: list = []
    for _ in range(levels):
        value = [value]
    return value


def doubled(levels: int) -> list:
    value: list = []
    for _ in range(levels):
        value = [value, value]
    return value


def cyclic() -> dict:
    value: dict = {}
    value["self"] = value
    return value


MESSAGES = {
    "deep lists": lambda: deep(100_000),
    "deep JSON": lambda: "[" * 100_000,
    "a cycle": cyclic,
    "a list that holds itself twice, forty times": lambda: doubled(40),
    "no JSON": lambda: "{",
    "no text": lambda: "\ud800",
    "no text in an object": lambda: {"a": "\ud800"},
    "no text as a key": lambda: {"\ud800": 1},
    "bytes that are no text": lambda: b'"\xff"',
    "no number": lambda: float("nan"),
    "no end": lambda: float("inf"),
    "a number that no float can hold": lambda: 10**400,
    "a number as a key": lambda: {1: 2},
    "an object": lambda: object(),
    "a set": lambda: {1, 2},
    "bytes in an object": lambda: {"a": b"b"},
}


@pytest.mark.parametrize("name", MESSAGES)
def test_a_hostile_message_is_refused(name: str) -> None:
    document = sortie.load("SRT-001")
    with pytest.raises((ValueError, TypeError, OverflowError)):
        document.evaluate(MESSAGES[name]())


@pytest.mark.parametrize("message", [None, True, 1, -1, 2**64 - 1, 2**70, 1.5, [], (), {"a": (1, None)}, deep(100)])
def test_whatever_json_can_hold_is_a_message(message: object) -> None:
    document = sortie.load("SRT-001")
    found, by_json = document.evaluate(message), document.evaluate(json.dumps(message).encode())
    # One indicator is an expression, which has an error where the message is no object.
    assert found.verdict == by_json.verdict in ("not_exploited", "error")
    assert found.indicators == by_json.indicators


TRACES = {
    "nothing": b"",
    "a line that is none": b"hello\n",
    "no text": b"\xff\xff\n",
    "deep": b"[" * 100_000 + b"\n",
    "a later version": HEADER.replace('"version":1', '"version":99').encode(),
    "a record that is none": HEADER.encode() + b'{"record":"message"}\n',
    "a deep record": HEADER.encode() + b'{"record":' + b"[" * 100_000 + b"\n",
}


@pytest.mark.parametrize("name", TRACES)
def test_a_hostile_trace_is_refused(name: str, tmp_path: Path) -> None:
    documents = [sortie.load("SRT-001")]
    path = tmp_path / "trace.jsonl"
    path.write_bytes(TRACES[name])
    for trace in [TRACES[name], path]:
        with pytest.raises(sortie.InvalidTrace):
            sortie.evaluate_trace(documents, trace)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "[" * 100_000, '{"version": 99, "runs": []}', '{"version": 2, "runs": [{}]}', "\ufffd"]
)
def test_a_hostile_report_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(sortie.InvalidReport):
        sortie.read_report(path)
    with pytest.raises(sortie.InvalidReport):
        sortie.read_report(tmp_path)  # the name is that of the report of a run


def test_a_report_that_is_not_there_is_a_file_that_is_not_there(tmp_path: Path) -> None:
    for path in [tmp_path, tmp_path / "missing.json"]:
        with pytest.raises(FileNotFoundError):
            sortie.read_report(path)


def test_arguments_of_another_type_are_refused() -> None:
    for call in [
        lambda: sortie.load(1),
        lambda: sortie.load(None),
        lambda: sortie.check([]),
        lambda: sortie.evaluate_trace(["SRT-001"], b""),
        lambda: sortie.evaluate_trace(sortie.load("SRT-001"), b""),
        lambda: sortie.read_report(1),
        lambda: sortie.Document(),
    ]:
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="no document"):
        sortie.evaluate_trace([], b"")
    silent = sortie.load('{"oatf": "0.1", "attack": {"execution": {"mode": "mcp_server", "state": {"tools": []}}}}')
    with pytest.raises(ValueError, match="no indicators"):
        sortie.Ruleset([silent])
    with pytest.raises(UnicodeEncodeError):
        sortie.load("\ud800")


def test_a_hostile_document_is_refused_in_a_thread_with_a_small_stack() -> None:
    caught: list[BaseException] = []

    def load() -> None:
        for text in [TEXTS["deep lists"], TEXTS["an expression"], TEXTS["a regex"]]:
            try:
                sortie.load(text)
            except BaseException as error:
                caught.append(error)

    before = threading.stack_size(1024 * 1024)
    try:
        thread = threading.Thread(target=load)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert [type(error) for error in caught] == [sortie.InvalidDocument] * 3


def test_the_lock_is_released_while_a_trace_is_read(tmp_path: Path) -> None:
    """A pipe is the trace: whoever reads it waits for another thread of the same interpreter to write it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    script = f"""
import faulthandler, threading, sortie
faulthandler.dump_traceback_later(60, exit=True)  # with the lock held, this would wait for ever
results = []
reader = threading.Thread(target=lambda: results.append(sortie.evaluate_trace([sortie.load("SRT-001")], {str(pipe)!r})))
reader.start()
with open({str(pipe)!r}, "w") as file:
    file.write({HEADER!r})
reader.join()
print(results[0][0].verdict)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=90)
    assert (ended.returncode, ended.stdout) == (0, "error\n"), ended.stderr


def test_json_of_a_message_means_the_same_as_its_objects() -> None:
    document = sortie.load("SRT-001")
    message = {"arguments": {"path": "\u00e9\U0001f600/.ssh/id_ed25519", "trace": "a" * 1000}}
    as_objects, as_json = document.evaluate(message), document.evaluate(json.dumps(message))
    assert as_objects.evidence == as_json.evidence and len(as_json.evidence) == 2
