"""The exceptions of Sortie. The native module raises them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._native import Diagnostic


class InvalidDocument(ValueError):
    """A document has errors. The text is the one that the command line shows."""

    diagnostics: list[Diagnostic]

    def __init__(self, text: str, diagnostics: list[Diagnostic]) -> None:
        super().__init__(text, diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return str(self.args[0])


class InvalidTrace(ValueError):
    """A trace cannot be read."""


class InvalidReport(ValueError):
    """A report cannot be read."""
