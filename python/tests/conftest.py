"""What the tests share. They run from a wheel, and read the documents of the repository."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import sortie

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).parent))
pytest_plugins = ["pytester"]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def program():
    """Runs the program of the wheel, and gives what it says."""
    path = sortie.find_program()

    def run(*arguments: object, code: int | None = None, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        words = [path, *map(str, arguments)]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd=cwd, stdin=subprocess.DEVNULL)
        assert code is None or ended.returncode == code, ended.stderr
        return ended

    return run
