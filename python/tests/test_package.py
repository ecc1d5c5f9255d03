"""What the wheel installs."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import sortie


def test_the_program_comes_with_the_module(program) -> None:
    version = importlib.metadata.version("sortie")
    assert Path(sortie.find_program()).parent == Path(sys.executable).parent
    assert program("--version", code=0).stdout == f"sortie {version}\n"
    by_module = subprocess.run([sys.executable, "-m", "sortie", "--version"], capture_output=True, text=True, timeout=60)
    assert by_module.stdout == f"sortie {version}\n"


def test_the_module_is_typed() -> None:
    folder = Path(sortie.__file__).parent
    assert (folder / "py.typed").is_file() and (folder / "_native.pyi").is_file()


def test_the_stubs_say_what_the_module_has() -> None:
    """Every class, property, method and signature, compared by the tool of mypy."""
    command = [sys.executable, "-m", "mypy.stubtest", "sortie._native"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_module_is_consistent_with_its_types(tmp_path: Path, root: Path) -> None:
    use = tmp_path / "use.py"
    use.write_text(
        "import sortie\n"
        "from sortie.pytest import AgentTask, assert_resists\n"
        "def agent(task: AgentTask) -> str:\n"
        "    return task.prompt\n"
        "def use() -> list[str | None]:\n"
        "    assert_resists(agent, 'SRT-001', sortie.load('SRT-002'))\n"
        "    outcomes = sortie.evaluate_trace([sortie.load('SRT-001')], b'')\n"
        "    return [evidence.text for outcome in outcomes for evidence in outcome.evidence]\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), "-p", "sortie"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout
    ended = subprocess.run([*command[:-2], str(use)], capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout
