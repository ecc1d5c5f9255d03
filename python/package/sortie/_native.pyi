"""What is written in Rust. `sortie` exports all of it."""

import os
from collections.abc import Sequence
from typing import Any, Literal, final

__all__ = [
    "Diagnostic",
    "Document",
    "Evaluation",
    "Evidence",
    "Failure",
    "IndicatorFinding",
    "Outcome",
    "Report",
    "Ruleset",
    "check",
    "evaluate_trace",
    "library",
    "load",
    "read_report",
]

@final
class Diagnostic:
    """A finding about a document: what, where, and what to do."""

    @property
    def code(self) -> str:
        """The code of the rule (`V-031`), which `sortie explain` explains."""
    @property
    def severity(self) -> Literal["error", "warning"]: ...
    @property
    def message(self) -> str:
        """What happened, in one sentence."""
    @property
    def path(self) -> str | None:
        """Where in the document."""
    @property
    def line(self) -> int | None:
        """Where in the text, from one."""
    @property
    def column(self) -> int | None:
        """In characters, from one."""
    @property
    def help(self) -> list[str]:
        """What to do about it."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Document:
    """A valid document, compiled once. Any number of threads may use it."""

    @property
    def name(self) -> str:
        """How reports and errors name it: its path, or the `name` that `load` was given."""
    @property
    def id(self) -> str | None:
        """`attack.id`."""
    @property
    def title(self) -> str | None:
        """`attack.name`."""
    @property
    def prompt(self) -> str | None:
        """The task of the agent: `x-sortie.prompt`."""
    @property
    def text(self) -> str:
        """The text that it was read from."""
    @property
    def indicators(self) -> list[str]:
        """The ids of its indicators, in order."""
    def evaluate(
        self,
        message: Any,
        *,
        surface: str | None = None,
        direction: Literal["request", "response"] | None = None,
    ) -> Evaluation:
        """Evaluates one message, as indicators see it: objects that JSON can hold, or JSON as `str` or `bytes`.

        With `surface` and `direction`, only the indicators that look at such messages are asked. Indicators that take more than
        one message are skipped; `evaluate_trace` asks them.
        """

@final
class Evaluation:
    """What a document says about one message. What was delivered is not known: that takes a trace."""

    @property
    def verdict(self) -> Literal["exploited", "partial", "not_exploited", "error"]: ...
    @property
    def tier(self) -> str | None:
        """The worst tier among the indicators that matched."""
    @property
    def evidence(self) -> list[Evidence]:
        """What matched."""
    @property
    def indicators(self) -> list[IndicatorFinding]:
        """Every indicator, in the order of the document."""

@final
class Evidence:
    """Something that a verdict rests on."""

    @property
    def by(self) -> Literal["indicator", "check", "judge"]:
        """What looked."""
    @property
    def name(self) -> str:
        """Its name: the id of an indicator, the name of a check, the model that judged."""
    @property
    def indicator(self) -> str | None:
        """The id of the indicator, where one looked."""
    @property
    def seq(self) -> int | None:
        """The message: its number in the trace."""
    @property
    def path(self) -> str:
        """Where: a path into the message or the transcript; empty for the whole of it."""
    @property
    def start(self) -> int | None:
        """First byte that matched, of the text that was searched."""
    @property
    def end(self) -> int | None:
        """One past the last of them."""
    @property
    def line(self) -> int | None:
        """Line of the document or evaluator that asked, from one."""
    @property
    def turn(self) -> int | None:
        """The turn of the transcript, from one."""
    @property
    def text(self) -> str | None:
        """What stands there, cut around what matched."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class IndicatorFinding:
    """What one indicator found."""

    @property
    def id(self) -> str: ...
    @property
    def result(self) -> Literal["matched", "not_matched", "error", "skipped"]: ...
    @property
    def evidence(self) -> str | None:
        """What matched, or why nothing can be said."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Failure:
    """What kept a case from being played or decided as a whole."""

    @property
    def kind(self) -> str:
        """What happened: `nobody_connected`, `not_delivered`, and so on (docs/eval.md)."""
    @property
    def fault(self) -> Literal["harness", "agent", "none"]:
        """Whose fault it is."""
    @property
    def actor(self) -> str | None:
        """The actor it happened to."""
    @property
    def message(self) -> str:
        """The same for people."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Outcome:
    """What came of one case. `str()` is the text that the command line shows."""

    @property
    def id(self) -> str: ...
    @property
    def document(self) -> str | None:
        """Where the document was read from; `None` for a case of an evaluator."""
    @property
    def verdict(
        self,
    ) -> Literal["exploited", "partial", "not_exploited", "error", "skipped", "not_applicable"]: ...
    @property
    def standing(self) -> Literal["resisted", "skipped", "undecided", "exploited"] | None:
        """What the case counts as; `None` where it does not apply to the target. Only `resisted` is a pass."""
    @property
    def reason(self) -> str | None:
        """Why, where nothing else says it."""
    @property
    def tier(self) -> str | None:
        """The worst tier among the indicators that matched."""
    @property
    def severity(self) -> str | None:
        """How bad it is when a target gives in."""
    @property
    def reach(self) -> Literal["yes", "no", "assumed", "unknown"]:
        """Whether the agent was served what the attack takes."""
    @property
    def failure(self) -> Failure | None:
        """What kept it from being played or decided."""
    @property
    def evidence(self) -> list[Evidence]:
        """What the verdict rests on."""
    @property
    def indicators(self) -> list[IndicatorFinding]:
        """Every indicator of the document, in its order."""
    @property
    def warnings(self) -> list[str]:
        """What looks odd, and changes nothing."""
    @property
    def trace(self) -> str | None:
        """The file that holds what was said."""
    def to_dict(self) -> dict[str, Any]:
        """The outcome as an entry of `runs` in a report (docs/schema/run-v2.json)."""

@final
class Report:
    """What came of a run. `str()` is the text that the command line shows."""

    @property
    def runs(self) -> list[Outcome]:
        """One for each case, in the order in which they were asked for."""
    @property
    def standing(self) -> Literal["resisted", "skipped", "undecided", "exploited"]:
        """What all of it counts as."""
    @property
    def unfinished(self) -> list[str]:
        """The cases that were not played to their end."""
    @property
    def stopped(self) -> str | None:
        """Why the run ended before all cases were played."""
    @property
    def totals(self) -> dict[str, Any]:
        """How many cases there are of each sort."""
    def to_dict(self) -> dict[str, Any]:
        """The whole report (docs/schema/run-v2.json)."""
    def __len__(self, /) -> int: ...

@final
class Ruleset:
    """Documents that are compiled together, for any number of traces and threads."""

    def __new__(cls, documents: Sequence[Document], *, lenient: bool = False) -> Ruleset: ...
    def evaluate(self, trace: str | os.PathLike[str] | bytes) -> list[Outcome]:
        """What each document finds in a trace: a path, or the content as `bytes`."""

def load(source: str | bytes | os.PathLike[str], *, name: str | None = None) -> Document:
    """Loads a document. Raises `InvalidDocument` with every error.

    A `PathLike` is a file. A `str` of one line that is not a JSON object is a path or the id of a bundled document. Everything
    else is the text of a document; `name` is how reports and errors name it.
    """

def check(text: str | bytes | os.PathLike[str]) -> list[Diagnostic]:
    """Everything that `sortie check` finds in a document: errors, warnings and lints. A `PathLike` is read."""

def evaluate_trace(
    documents: Sequence[Document], trace: str | os.PathLike[str] | bytes, *, lenient: bool = False
) -> list[Outcome]:
    """What each document finds in a trace: a path, or the content as `bytes`. `lenient` is that of `sortie eval`.

    For many traces, `Ruleset` compiles the documents once.
    """

def library() -> dict[str, Document]:
    """The documents that come with Sortie, by id."""

def read_report(path: str | os.PathLike[str]) -> Report:
    """Reads a report: a file that `--format json` wrote, or the folder of a run."""
