"""Attacks on AI agents as documents: check them, evaluate messages and traces with them, read reports.

    >>> import sortie
    >>> document = sortie.load("SRT-001")
    >>> document.evaluate({"name": "read_file", "arguments": {"path": "~/.ssh/id_ed25519"}}).verdict
    'exploited'

To attack an agent from a test, see `sortie.pytest`. The wheel also has the program `sortie`.
"""

from ._errors import InvalidDocument, InvalidReport, InvalidTrace
from ._native import (
    Diagnostic,
    Document,
    Evaluation,
    Evidence,
    Failure,
    IndicatorFinding,
    Outcome,
    Report,
    Ruleset,
    check,
    evaluate_trace,
    library,
    load,
    read_report,
)
from ._program import find_program

__all__ = [
    "Diagnostic",
    "Document",
    "Evaluation",
    "Evidence",
    "Failure",
    "IndicatorFinding",
    "InvalidDocument",
    "InvalidReport",
    "InvalidTrace",
    "Outcome",
    "Report",
    "Ruleset",
    "check",
    "evaluate_trace",
    "find_program",
    "library",
    "load",
    "read_report",
]
