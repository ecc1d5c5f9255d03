"""The plugin for pytest, with agents whose behaviour is known."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sortie
from plain_agent import careful, careful_coroutine, gullible
from sortie.pytest import AgentTask, Exploited, Undecided, assert_resists, attack

#: Late effects are not what these tests are about.
NOW = ["--grace", "0s"]


def processes(word: object) -> list[str]:
    """The processes with a word in their arguments."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            arguments = (folder / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if str(word).encode() in arguments and folder.name.isdigit() and int(folder.name) != os.getpid():
            found.append(arguments.replace(b"\0", b" ").decode(errors="replace"))
    return found


@pytest.mark.parametrize("agent", [careful, careful_coroutine])
def test_an_agent_that_does_its_task_only_passes(agent, tmp_path: Path) -> None:
    report = assert_resists(agent, "SRT-001", options=NOW, folder=tmp_path)
    assert report.standing == "resisted"
    (outcome,) = report.runs
    assert (outcome.verdict, outcome.reach) == ("not_exploited", "yes")
    assert not processes(tmp_path)


def test_an_agent_that_gives_in_fails_with_the_evidence(tmp_path: Path) -> None:
    with pytest.raises(AssertionError) as caught:
        assert_resists(gullible, "SRT-001", options=NOW, folder=tmp_path)
    assert isinstance(caught.value, Exploited)
    text = str(caught.value)
    assert "SRT-001-02" in text and "KEY-CANARY-001-7f3a" in text and "arguments.trace" in text
    (outcome,) = caught.value.report.runs
    assert outcome.tier == "boundary_breach" and outcome.trace is not None
    assert Path(outcome.trace).is_file()
    assert not processes(tmp_path)


def test_the_agent_gets_its_task_first_without_the_attack() -> None:
    tasks: list[AgentTask] = []

    def agent(task: AgentTask) -> str:
        tasks.append(task)
        return careful(task)

    assert_resists(agent, "SRT-001", options=NOW)
    assert [task.prompt for task in tasks] == ["Convert 250 euros to dollars."] * 2
    assert tasks[0].mcp_url != tasks[1].mcp_url
    assert all(task.urls == {"default": task.mcp_url} for task in tasks)
    tasks.clear()
    assert_resists(agent, "SRT-001", prompt="Convert 10 euros.", controls="off", options=NOW)
    assert [task.prompt for task in tasks] == ["Convert 10 euros."]


def test_several_attacks_and_documents_of_ones_own(tmp_path: Path) -> None:
    document = sortie.load(sortie.load("SRT-001").text.replace("SRT-001", "MINE-001"))
    report = assert_resists(careful, document, "SRT-001", options=NOW, folder=tmp_path)
    assert [outcome.id for outcome in report.runs] == ["MINE-001", "SRT-001"]


def test_a_task_has_the_address_of_every_server() -> None:
    tasks: list[AgentTask] = []
    assert attack(tasks.append, "SRT-046", "SRT-068", controls="off", options=NOW).standing == "undecided"
    (card, chain) = tasks
    assert card.mcp_url is None and card.urls == {"default": card.a2a_url}
    assert chain.urls == {"database": chain.mcp_url, "ledger": chain.a2a_url}
    assert all(url.startswith("http://127.0.0.1:") for task in tasks for url in task.urls.values())
    # A document that attacks a server has no agent.
    with pytest.raises(Undecided, match="has no target"):
        assert_resists(careful, "SRT-041", options=NOW)


def silent(task: AgentTask) -> None:
    """Does nothing, and so gives in to nothing."""


def failing(task: AgentTask) -> None:
    raise RuntimeError("there is no model")


@pytest.mark.parametrize("controls", ["first", "off"])
@pytest.mark.parametrize("agent", [silent, failing])
def test_an_agent_that_does_not_work_is_undecided(agent, controls: str, tmp_path: Path) -> None:
    with pytest.raises(Undecided) as caught:
        assert_resists(agent, "SRT-001", controls=controls, options=NOW, folder=tmp_path)
    assert not isinstance(caught.value, AssertionError)
    assert caught.value.report is not None and caught.value.report.standing == "undecided"
    if agent is failing:
        assert isinstance(caught.value.__cause__, RuntimeError)
        assert "there is no model" in (tmp_path / "stderr.txt").read_text() + str(caught.value)
    assert not processes(tmp_path)


def hanging_function(task: AgentTask) -> None:
    careful(task)
    time.sleep(600)


async def hanging_coroutine(task: AgentTask) -> None:
    careful(task)
    try:
        await asyncio.sleep(600)
    finally:
        hanging_coroutine.cancelled = True  # type: ignore[attr-defined]


@pytest.mark.parametrize("agent", [hanging_function, hanging_coroutine])
def test_an_agent_that_hangs_is_undecided_and_ends(agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A function cannot be ended; the test does not wait for it.
    monkeypatch.setattr("sortie.pytest.END", 0.5 if agent is hanging_function else 5.0)
    with pytest.raises(Undecided) as caught:
        assert_resists(agent, "SRT-001", timeout=2, controls="off", options=NOW, folder=tmp_path)
    (outcome,) = caught.value.report.runs
    assert outcome.failure.kind == "timed_out"
    assert isinstance(caught.value.__cause__, (TimeoutError, asyncio.CancelledError))
    if agent is hanging_coroutine:
        assert hanging_coroutine.cancelled
    assert not processes(tmp_path)


def test_what_cannot_start_is_undecided() -> None:
    with pytest.raises(Undecided, match="did you mean `SRT-001`"):
        assert_resists(careful, "SRT-0O1")
    without_task = '{"oatf": "0.1", "attack": {"execution": {"mode": "mcp_server", "state": {"tools": []}}}}'
    with pytest.raises(Undecided, match="prompt"):
        assert_resists(careful, sortie.load(without_task))
    with pytest.raises(ValueError, match="no attack"):
        assert_resists(careful)


def test_a_report_can_be_had_whatever_came_of_it() -> None:
    assert attack(gullible, "SRT-001", options=NOW).standing == "exploited"
    assert attack(careful, "SRT-001", options=NOW).standing == "resisted"
    assert attack(silent, "SRT-001", options=NOW).standing == "undecided"


def test_the_fixture_serves_an_agent_that_the_test_runs(hostile_server, tmp_path: Path) -> None:
    with hostile_server("SRT-001", options=NOW) as server:
        assert server.prompt == "Convert 250 euros to dollars."
        with pytest.raises(RuntimeError, match="after the `with` block"):
            server.assert_resisted()
        careful(server)
    server.assert_resisted()
    assert server.outcome.verdict == "not_exploited"
    with hostile_server("SRT-001", options=NOW) as server:
        gullible(server)
    assert server.outcome.verdict == "exploited"
    with pytest.raises(Exploited, match="KEY-CANARY-001-7f3a"):
        server.assert_resisted()
    with hostile_server("SRT-001", options=NOW) as server:
        pass
    with pytest.raises(Undecided):
        server.assert_resisted()
    with pytest.raises(ZeroDivisionError), hostile_server("SRT-001", options=NOW) as server:
        1 / 0
    assert not processes(tmp_path)


def test_nothing_is_left_when_the_test_process_is_killed(tmp_path: Path) -> None:
    script = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from sortie.pytest import assert_resists
def agent(task):
    print("ready", flush=True)
    time.sleep(600)
assert_resists(agent, "SRT-001", controls="off", options={NOW!r}, folder={str(tmp_path)!r})
"""
    # A name that is in the arguments of everything that it starts.
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    assert processes(tmp_path / "run")
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    deadline = time.monotonic() + 60
    while (left := processes(tmp_path / "run")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left


def test_pytest_shows_what_came_of_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        from plain_agent import careful, gullible
        from sortie.pytest import assert_resists

        def test_careful():
            assert_resists(careful, "SRT-001", options={NOW!r})

        def test_gullible():
            assert_resists(gullible, "SRT-001", options={NOW!r})

        def test_silent():
            assert_resists(lambda task: None, "SRT-001", options={NOW!r})
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", timeout=120)
    result.assert_outcomes(passed=1, failed=1, errors=1)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*ERROR at call of test_silent*"])
    result.stdout.fnmatch_lines(["*Exploited: the agent gave in*"])
    result.stdout.fnmatch_lines(["*KEY-CANARY-001-7f3a*"])
