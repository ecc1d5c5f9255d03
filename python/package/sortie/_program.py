"""Where the program is that came with this package."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path


def find_program() -> str:
    """The path of the program `sortie`: the one of this installation, else the first one on `PATH`."""
    for folder in _folders():
        program = os.path.join(folder, "sortie")
        if os.access(program, os.X_OK) and os.path.isfile(program):
            return program
    if program_on_path := shutil.which("sortie"):
        return program_on_path
    raise FileNotFoundError("the program `sortie` is neither beside this package nor on PATH")


def _folders() -> Iterator[str]:
    yield sysconfig.get_path("scripts")
    yield sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user"))
    # `pip install --target` and `--prefix`.
    package = Path(__file__).resolve().parent
    yield str(package.parent / "bin")
    if len(package.parents) > 3:
        yield str(package.parents[3] / "bin")
    yield str(Path(sys.executable).parent)
