"""Loading and checking documents."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
import sortie

BROKEN = """\
oatf: "0.1"
attack:
  name: Two mistakes
  execution:
    mode: mcp_server
    state: {tools: []}
  indicators:
    - id: X-001-01
      surface: tools/call
      target: arguments.path
      pattern: {regex: "(?!a)b"}
      teir: local_action
"""


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "broken.yaml"
    path.write_text(BROKEN)
    return path


def test_a_document_is_loaded_by_id_path_or_text(root: Path) -> None:
    by_id = sortie.load("SRT-001")
    path = root / "crates/library/documents" / by_id.name.removeprefix("library/")
    for loaded in [by_id, sortie.load(path), sortie.load(str(path)), sortie.load(by_id.text), sortie.load(path.read_bytes())]:
        assert loaded.id == "SRT-001"
        assert loaded.title == "A tool description that wants a private key"
        assert loaded.prompt == "Convert 250 euros to dollars."
        assert loaded.indicators == ["SRT-001-01", "SRT-001-02", "SRT-001-03"]
        assert loaded.text == path.read_text()
    assert sortie.load(by_id.text).name == "<text>"
    assert sortie.load(by_id.text, name="mine").name == "mine"
    as_json = '{"oatf": "0.1", "attack": {"execution": {"mode": "mcp_server", "state": {"tools": []}}}}'
    assert sortie.load(as_json).id is None


def test_the_library_has_every_document_of_the_program(program) -> None:
    listed = json.loads(program("library", "list", "--format", "json", code=0).stdout)
    ids = [document["id"] for document in listed["documents"]]
    assert list(sortie.library()) == ids
    assert len(ids) > 100


def test_an_error_is_the_text_of_the_command_line(broken: Path, program) -> None:
    with pytest.raises(sortie.InvalidDocument) as caught:
        sortie.load(broken)
    told = program("eval", "--trace", "none.jsonl", broken, code=2)
    assert str(caught.value) in told.stderr
    assert "error[" in str(caught.value) and "-->" in str(caught.value)
    errors = [finding for finding in sortie.check(broken) if finding.severity == "error"]
    assert caught.value.diagnostics == errors and len(errors) == 2
    # A text has another name, and the same findings.
    with pytest.raises(sortie.InvalidDocument, match="--> mine:11") as caught:
        sortie.load(BROKEN, name="mine")
    assert caught.value.diagnostics == errors
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name", ["broken", "SRT-001"])
def test_findings_are_those_of_the_command_line(name: str, broken: Path, program, root: Path) -> None:
    if name == "broken":
        path = broken
    else:
        path = root / "crates/library/documents" / sortie.load(name).name.removeprefix("library/")
    told = json.loads(program("check", path, "--format", "json").stdout)
    (file,) = told["files"]
    expected = [
        (own["code"], own["severity"], own["message"], own.get("path"), own.get("line"), own.get("column"), own.get("help") or "")
        for own in file["diagnostics"]
    ]
    for found in [sortie.check(path), sortie.check(path.read_text()), sortie.check(path.read_bytes())]:
        ours = [(own.code, own.severity, own.message, own.path, own.line, own.column, "\n".join(own.help)) for own in found]
        assert ours == expected
    assert (name == "broken") == any(severity == "error" for _, severity, *_ in expected)


def test_what_is_not_there_is_said_with_what_may_be_meant(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="did you mean `SRT-001`"):
        sortie.load("SRT-0O1")
    with pytest.raises(FileNotFoundError, match="missing.yaml"):
        sortie.load(tmp_path / "missing.yaml")
    with pytest.raises(FileNotFoundError, match="missing.yaml"):
        sortie.check(tmp_path / "missing.yaml")
    with pytest.raises(OSError):
        sortie.load(tmp_path)


def test_exceptions_and_values_have_a_plain_representation() -> None:
    (finding, *_) = [own for own in sortie.check(BROKEN) if own.code == "V-013"]
    assert repr(finding).startswith("<Diagnostic 11:")
    assert repr(sortie.load("SRT-001")) == f"<Document SRT-001 ({sortie.load('SRT-001').name})>"
    with pytest.raises(TypeError):
        pickle.dumps(sortie.load("SRT-001"))
