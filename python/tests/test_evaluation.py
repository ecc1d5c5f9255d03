"""Messages, traces and reports. What the command line says of the same is what must come out."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sortie

CALL = {"name": "read_file", "arguments": {"path": "/home/ada/.ssh/id_ed25519"}}


@pytest.mark.parametrize("message", [CALL, json.dumps(CALL), json.dumps(CALL).encode()])
def test_a_message_is_evaluated_with_its_evidence(message: object) -> None:
    document = sortie.load("SRT-001")
    found = document.evaluate(message, surface="tools/call", direction="request")
    assert (found.verdict, found.tier) == ("exploited", "local_action")
    (evidence,) = found.evidence
    assert (evidence.indicator, evidence.by, evidence.path) == ("SRT-001-01", "indicator", "arguments.path")
    assert (evidence.text, evidence.start, evidence.end) == ("/home/ada/.ssh/id_ed25519", 10, 25)
    line = document.text.splitlines()[evidence.line - 1]
    assert line.strip() == "ends_with: .ssh/id_ed25519"
    assert [(own.id, own.result) for own in found.indicators] == [
        ("SRT-001-01", "matched"),
        ("SRT-001-02", "not_matched"),
        ("SRT-001-03", "not_matched"),
    ]


def test_a_message_that_no_indicator_looks_at_is_no_pass() -> None:
    document = sortie.load("SRT-001")
    assert document.evaluate({"name": "convert_currency"}, surface="tools/call").verdict == "not_exploited"
    for where in [{"surface": "tools/list"}, {"direction": "response"}]:
        found = document.evaluate(CALL, **where)
        assert found.verdict == "error" and not found.evidence
        assert {own.result for own in found.indicators} == {"skipped"}
    with pytest.raises(ValueError, match="is not a direction"):
        document.evaluate(CALL, direction="both")


def test_indicators_that_take_several_messages_are_skipped() -> None:
    skipped = set()
    for document in sortie.library().values():
        skipped.update(own.evidence for own in document.evaluate({}).indicators if own.result == "skipped")
    assert any("evaluate a trace" in str(why) for why in skipped)


def documents_and_traces() -> list[tuple[str, Path]]:
    documents = Path(__file__).resolve().parents[2] / "crates/library/documents"
    pairs = []
    for document in sortie.library().values():
        path = documents / document.name.removeprefix("library/")
        pairs += [(document.id, trace) for trace in sorted(path.with_suffix(".proofs").glob("*.jsonl"))]
    return pairs


def test_evidence_equals_that_of_the_command_line_on_the_whole_library(
    program, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every document with every recording of its proofs: the outcome is the same, field by field, and so is the text."""
    library = sortie.library()
    pairs = documents_and_traces()
    assert len(pairs) > 300

    def compare(pair: tuple[str, Path]) -> tuple[str, int]:
        id, trace = pair
        told = json.loads(program("eval", "--trace", trace, "--format", "json", id).stdout)
        (outcome,) = sortie.evaluate_trace([library[id]], trace)
        (expected,) = told["runs"]
        assert outcome.to_dict() == expected, trace
        evidence = [
            {
                "by": own.by,
                "name": own.name,
                "seq": own.seq,
                "path": own.path,
                "start": own.start,
                "end": own.end,
                "line": own.line,
                "turn": own.turn,
                "text": own.text,
            }
            for own in outcome.evidence
        ]
        assert evidence == expected["evidence"], trace
        assert outcome.verdict == expected["verdict"]["result"]
        assert outcome.tier == expected["verdict"]["max_tier"]
        assert outcome.reach == expected["reach"]["delivered"]
        assert (outcome.failure and outcome.failure.kind) == (expected["failure"] and expected["failure"]["kind"])
        return outcome.verdict, len(evidence)

    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(compare, pairs))
    verdicts = {verdict for verdict, _ in results}
    assert {"exploited", "not_exploited"} <= verdicts
    pieces = sum(pieces for _, pieces in results)
    with capsys.disabled():
        print(f"\n{len(pairs)} recordings of {len(library)} documents, {pieces} pieces of evidence: all equal")
    assert pieces > 100


def test_a_ruleset_says_the_same_as_each_document_alone(root: Path) -> None:
    documents = list(sortie.library().values())
    ruleset = sortie.Ruleset(documents)
    for _, trace in documents_and_traces()[::40]:
        together = ruleset.evaluate(trace)
        assert len(together) == len(documents)
        for document, outcome in list(zip(documents, together))[::10]:
            (alone,) = sortie.evaluate_trace([document], trace)
            assert outcome.to_dict() == alone.to_dict()


def test_a_trace_may_be_a_path_or_bytes(program) -> None:
    id, trace = next(pair for pair in documents_and_traces() if pair[1].name == "gave-in.jsonl")
    document = sortie.load(id)
    (by_path,) = sortie.evaluate_trace([document], str(trace))
    (by_bytes,) = sortie.evaluate_trace([document], trace.read_bytes())
    assert by_path.trace == str(trace) and by_bytes.trace is None
    assert by_path.evidence == by_bytes.evidence != []
    told = program("eval", "--trace", trace, id, code=1).stdout
    assert str(by_path) == told
    assert repr(by_path).startswith(f"<Outcome {id}: exploited")


def test_nothing_observed_is_no_pass() -> None:
    header = b'{"record":"header","version":1,"origin":"foreign","written_by":"me","time":"2026-11-17T10:00:00Z"}\n'
    (outcome,) = sortie.evaluate_trace([sortie.load("SRT-001")], header)
    assert outcome.verdict == "error" and outcome.standing == "undecided"
    assert outcome.failure is not None and outcome.failure.message


def test_a_report_is_read_from_a_file_or_a_run(tmp_path: Path, program) -> None:
    run, file = tmp_path / "run", tmp_path / "report.json"
    common = ["--agent", "builtin:gullible", "--run-dir", run, "--grace", "0s"]
    program("run", "SRT-001", *common, "--format", "json", "--out", file, code=1, cwd=tmp_path)
    for path in [file, str(file), run]:
        report = sortie.read_report(path)
        assert report.standing == "exploited" and len(report) == 1
        assert report.totals["exploited"] == 1
        (outcome,) = report.runs
        assert outcome.verdict == "exploited" and outcome.tier == "boundary_breach"
        assert {own.indicator for own in outcome.evidence} == {"SRT-001-01", "SRT-001-02", "SRT-001-03"}
        # The verdict can be given again from the trace of the run.
        (again,) = sortie.evaluate_trace([sortie.load("SRT-001")], outcome.trace)
        assert again.evidence == outcome.evidence
    assert sortie.read_report(file).to_dict() == json.loads(file.read_text())
