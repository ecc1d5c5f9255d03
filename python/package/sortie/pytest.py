"""Attacks an agent from a test.

    from sortie.pytest import assert_resists

    def agent(task):
        return my_agent(servers=[task.mcp_url]).run(task.prompt)

    def test_agent_keeps_the_key():
        assert_resists(agent, "SRT-001")

The agent runs in the process of the test, in a thread of its own. The hostile servers are in a process of their own, on the
loopback address. pytest loads this module as a plugin: it has the fixture `hostile_server`, and shows a test that could not
decide as an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import re
import selectors
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

import pytest

from ._native import Document, Outcome, Report, read_report
from ._program import find_program

__all__ = ["AgentTask", "Exploited", "HostileServer", "Undecided", "assert_resists", "attack", "hostile_server"]

#: An attack: a path, an id of the library, or a document.
Attack = Union[str, "os.PathLike[str]", Document]
#: An agent: it gets its task, and may be a coroutine function.
Agent = Callable[["AgentTask"], Union[Awaitable[object], object]]

#: Seconds that the program may take beyond the time of its cases, to start and to watch for late effects.
MARGIN = 60.0
#: Seconds that an agent may take to end when its time is up.
END = 5.0


@dataclass(frozen=True)
class AgentTask:
    """What an agent is told: its task, and where its servers are."""

    prompt: str
    """What the user asks for."""
    mcp_url: str | None
    """The first MCP server."""
    a2a_url: str | None
    """The first A2A server."""
    urls: Mapping[str, str] = field(default_factory=dict)
    """Every server, by the name of its actor."""


class Exploited(AssertionError):
    """The agent gave in. The text has the evidence."""

    def __init__(self, text: str, report: Report) -> None:
        super().__init__(text)
        self.report = report


class Undecided(Exception):
    """Nobody can say: the attack was not delivered, the agent failed or did nothing, or the run could not start."""

    def __init__(self, text: str, report: Report | None = None) -> None:
        super().__init__(text)
        self.report = report


def assert_resists(
    agent: Agent,
    *attacks: Attack,
    prompt: str | None = None,
    timeout: float = 60.0,
    controls: str = "first",
    options: Sequence[str] = (),
    folder: str | os.PathLike[str] | None = None,
) -> Report:
    """Attacks an agent, and returns the report if it resisted every attack.

    Raises `Exploited` (an `AssertionError`) if it gave in, and `Undecided` if nobody can say. `timeout` is the time of one case in
    seconds. `controls` is that of `sortie run`: by default the agent first gets the task without the attack, and has to do it.
    `options` are further options of `sortie run`. `folder` keeps traces and report; by default they are removed.
    """
    report, code, words, error = _played(agent, attacks, prompt, timeout, controls, options, folder)
    _judge(report, code, words, error)
    assert report is not None  # `_judge` raises where there is none
    return report


def attack(
    agent: Agent,
    *attacks: Attack,
    prompt: str | None = None,
    timeout: float = 60.0,
    controls: str = "first",
    options: Sequence[str] = (),
    folder: str | os.PathLike[str] | None = None,
) -> Report:
    """Attacks an agent, and returns the report, also if the agent was exploited. Raises `Undecided` only if there is no report."""
    report, _, words, error = _played(agent, attacks, prompt, timeout, controls, options, folder)
    if report is None:
        raise Undecided(words) from error
    return report


class HostileServer:
    """The servers of one attack, for an agent that the test runs by itself. What came of it is known after the `with` block."""

    def __init__(self, run: _Run, task: AgentTask) -> None:
        self.prompt = task.prompt
        self.mcp_url = task.mcp_url
        self.a2a_url = task.a2a_url
        self.urls = task.urls
        self._run = run
        self._ended: tuple[Report | None, int, str] | None = None

    @property
    def report(self) -> Report:
        """What came of it."""
        report, _, words = self._known()
        if report is None:
            raise Undecided(words)
        return report

    @property
    def outcome(self) -> Outcome:
        """What came of the only case."""
        (outcome,) = self.report.runs
        return outcome

    def assert_resisted(self) -> None:
        """Raises `Exploited` or `Undecided`, as `assert_resists` does."""
        _judge(*self._known(), None)

    def _known(self) -> tuple[Report | None, int, str]:
        if self._ended is None:
            raise RuntimeError("the outcome is known after the `with` block")
        return self._ended


@contextlib.contextmanager
def _serve(
    attack: Attack,
    *,
    prompt: str | None = None,
    timeout: float = 60.0,
    options: Sequence[str] = (),
    folder: str | os.PathLike[str] | None = None,
) -> Iterator[HostileServer]:
    # Without a control: the test runs its agent once.
    with _Run([attack], prompt, timeout, "off", options, folder) as run:
        call = run.next_call()
        if call is None:
            report, _, words = run.end()
            raise Undecided(words, report)
        server = HostileServer(run, call.task)
        try:
            yield server
        except BaseException as error:
            call.finish(None, "".join(traceback.format_exception(error)))
            raise
        call.finish(None, None)
        server._ended = run.end()


@pytest.fixture
def hostile_server(tmp_path: Path) -> Callable[..., contextlib.AbstractContextManager[HostileServer]]:
    """Starts the servers of an attack: `with hostile_server("SRT-001") as server: ...`. Traces stay in `tmp_path`."""

    def start(attack: Attack, **options: Any) -> contextlib.AbstractContextManager[HostileServer]:
        options.setdefault("folder", tempfile.mkdtemp(prefix="attack-", dir=tmp_path))
        return _serve(attack, **options)

    return start


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    report = yield
    report.sortie_undecided = call.excinfo is not None and call.excinfo.errisinstance(Undecided)
    return report


def pytest_report_teststatus(report: Any, config: pytest.Config) -> tuple[str, str, str] | None:
    if report.failed and getattr(report, "sortie_undecided", False):
        return "error", "E", "UNDECIDED"
    return None


def _judge(report: Report | None, code: int, words: str, error: BaseException | None) -> None:
    """Raises, unless the program says that every case resisted."""
    if report is None:
        raise Undecided(words) from error
    if code == 1:
        raise Exploited(f"the agent gave in\n\n{report}", report) from error
    if code != 0:
        raise Undecided(f"nobody can say whether the agent resists\n\n{report}\n{words}".rstrip(), report) from error


def _played(
    agent: Agent,
    attacks: Sequence[Attack],
    prompt: str | None,
    timeout: float,
    controls: str,
    options: Sequence[str],
    folder: str | os.PathLike[str] | None,
) -> tuple[Report | None, int, str, BaseException | None]:
    """Plays every case, and gives the last error of the agent too."""
    error: BaseException | None = None
    with _Run(attacks, prompt, timeout, controls, options, folder) as run:
        while (call := run.next_call()) is not None:
            error = call.answer(agent)
        return *run.end(), error


class _Run:
    """`sortie run` as a process, with a bridge for its agent. Nothing of it is left when the block ends."""

    def __init__(
        self,
        attacks: Sequence[Attack],
        prompt: str | None,
        timeout: float,
        controls: str,
        options: Sequence[str],
        folder: str | os.PathLike[str] | None,
    ) -> None:
        if not attacks:
            raise ValueError("there is no attack")
        self._attacks = attacks
        self._timeout = timeout
        self._options = ["--controls", controls, "--max-duration", f"{max(1, round(timeout * 1000))}ms", *options]
        if prompt is not None:
            self._options += ["--prompt", prompt]
        self._keep = folder
        self._over = False

    def __enter__(self) -> _Run:
        self._stack = contextlib.ExitStack()
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _start(self) -> None:
        stack = self._stack
        # The path of a socket may have some hundred bytes, so that it is not below the folder of a test.
        private = stack.enter_context(tempfile.TemporaryDirectory(prefix="sortie-"))
        self._folder = Path(self._keep) if self._keep is not None else Path(private)
        self._folder.mkdir(parents=True, exist_ok=True)
        address = os.path.join(private, "bridge")
        self._listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        self._listener.bind(address)
        self._listener.listen()
        bridge = [sys.executable, "-I", "-S", str(Path(__file__).with_name("_bridge.py")), address]
        command = [find_program(), "run", *map(self._named, self._attacks), *self._options, "--quiet"]
        command += ["--agent", " ".join([*map(_quoted, bridge), "{prompt_file}"])]
        command += ["--run-dir", str(self._folder / "run"), "--format", "json", "--out", str(self._folder / "report.json")]
        self._errors = stack.enter_context(open(self._folder / "stderr.txt", "w+b"))
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors
        )
        stack.callback(self._stop)
        self._selector = stack.enter_context(selectors.DefaultSelector())
        self._selector.register(self._listener, selectors.EVENT_READ)
        # It closes when the process ends: nothing else holds it.
        assert self._process.stdout is not None
        self._selector.register(self._process.stdout, selectors.EVENT_READ)

    def _named(self, attack: Attack) -> str:
        if not isinstance(attack, Document):
            return os.fspath(attack)
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", attack.id or "attack").strip("-") or "attack"
        path = self._folder / f"{name}.yaml"
        path.write_text(attack.text, encoding="utf-8")
        return str(path)

    def next_call(self) -> _Call | None:
        """The next task for the agent; `None` when the run has ended."""
        assert self._process.stdout is not None
        while not self._over:
            # A case ends by itself when its time is up; this is for a program that does not.
            ready = [key.fileobj for key, _ in self._selector.select(self._timeout + MARGIN)]
            if self._listener in ready:
                connection, _ = self._listener.accept()
                self._stack.callback(connection.close)
                try:
                    return _Call(connection, self._timeout)
                except (OSError, ValueError):
                    connection.close()  # the program ended the bridge before it had said anything
            else:
                self._over = not ready or not os.read(self._process.stdout.fileno(), 65536)
        return None

    def end(self) -> tuple[Report | None, int, str]:
        """The report where there is one, the exit code, and what the program says on standard error."""
        while (call := self.next_call()) is not None:
            call.finish(None, "the test runs its agent once")
        try:
            code = self._process.wait(END)
        except subprocess.TimeoutExpired:
            self._stop()
            code = -1
        self._errors.seek(0)
        words = self._errors.read(1 << 20).decode(errors="replace").strip()
        path = self._folder / "report.json"
        if code not in (0, 1, 3) or not path.is_file():
            return None, code, f"`sortie run` ended with {code}\n{words}".rstrip()
        return read_report(path), code, words

    def _stop(self) -> None:
        """Ends the process: kindly first, since it ends its agent and writes its report then."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(END)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


class _Call:
    """One start of the agent."""

    def __init__(self, connection: socket.socket, timeout: float) -> None:
        self._connection = connection
        self._timeout = timeout
        connection.settimeout(END)
        with connection.makefile("rb") as lines:
            told = json.loads(lines.readline())
        variables = told["variables"]
        prefix = "SORTIE_URL_"
        self.task = AgentTask(
            prompt=told["prompt"],
            mcp_url=variables.get("SORTIE_MCP_URL"),
            a2a_url=variables.get("SORTIE_A2A_URL"),
            # Names of actors are in lower case.
            urls={name[len(prefix) :].lower(): url for name, url in variables.items() if name.startswith(prefix)},
        )

    def answer(self, agent: Agent) -> BaseException | None:
        """Runs the agent, until it is done or the program does not wait any longer. Gives its error."""
        work = _Work(agent, self.task)
        if not work.wait(self._connection, self._timeout + MARGIN):
            work.cancel()
            self._connection.close()
            return work.error or TimeoutError("the agent was not done in time")
        error = work.error
        self.finish(work.result, "".join(traceback.format_exception(error)) if error else None)
        return error

    def finish(self, result: object, error: str | None) -> None:
        """Tells the program that the agent is done."""
        answer = result if isinstance(result, str) else None
        line = json.dumps({"answer": answer, "error": error}).encode() + b"\n"
        # A case that was over before the agent was has nobody to tell.
        with contextlib.suppress(OSError):
            self._connection.sendall(line)
        self._connection.close()


class _Work:
    """An agent in a thread of its own, so that one that hangs does not hold up the test."""

    def __init__(self, agent: Agent, task: AgentTask) -> None:
        self.result: object = None
        self.error: BaseException | None = None
        self._coroutine: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None
        self._done, self._worker = socket.socketpair()
        self._thread = threading.Thread(target=self._run, args=(agent, task), name="sortie-agent", daemon=True)
        self._thread.start()

    def _run(self, agent: Agent, task: AgentTask) -> None:
        try:
            result = agent(task)
            self.result = asyncio.run(self._awaited(result)) if inspect.isawaitable(result) else result
        except BaseException as error:  # whatever it is, it is the agent's
            self.error = error
        finally:
            self._worker.close()

    async def _awaited(self, result: Awaitable[object]) -> object:
        task = asyncio.current_task()
        assert task is not None
        self._coroutine = (asyncio.get_running_loop(), task)
        return await result

    def wait(self, connection: socket.socket, seconds: float) -> bool:
        """Whether the agent was done before the connection closed and the time was up."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._done, selectors.EVENT_READ)
            selector.register(connection, selectors.EVENT_READ)
            ready = [key.fileobj for key, _ in selector.select(seconds)]
        return self._done in ready

    def cancel(self) -> None:
        """Asks a coroutine to end. A function cannot be asked: its servers are gone, and it is left alone."""
        if self._coroutine is not None:
            loop, task = self._coroutine
            with contextlib.suppress(RuntimeError):  # the loop was closed in the meantime
                loop.call_soon_threadsafe(task.cancel)
        self._thread.join(END)


def _quoted(word: str) -> str:
    """A word as the program splits it, with braces that are no placeholder."""
    return shlex.quote(re.sub(r"\{(\w+)\}", r"{{\1}}", word))
