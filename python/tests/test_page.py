"""The page about Python, as it is written: its sessions are typed in, and its tests run."""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path

import pytest

#: What the page calls `my_agent`.
AGENT = """
from plain_agent import careful
from types import SimpleNamespace

def run_agent(servers, prompt):
    return careful(SimpleNamespace(mcp_url=servers[0], prompt=prompt))
"""


@pytest.fixture
def page(root: Path) -> str:
    return (root / "docs/python.md").read_text()


def test_the_sessions_of_the_page_are_right(page: str, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    sessions = "\n".join(re.findall(r"^```pycon\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    test = doctest.DocTestParser().get_doctest(sessions, {}, "docs/python.md", None, 0)
    said: list[str] = []
    result = doctest.DocTestRunner().run(test, out=said.append)
    assert result.failed == 0, "".join(said)
    assert result.attempted > 8


def test_the_tests_of_the_page_pass(page: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(pytester.path), str(Path(__file__).parent)]))
    pytester.makepyfile(my_agent=AGENT)
    tests = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    pytester.makepyfile(test_page="\n\n".join(tests))
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", timeout=120)
    result.assert_outcomes(passed=2)
