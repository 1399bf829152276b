"""The defences that attacks are aimed at, and how each is switched off for a control.

Proctor itself has no such switches: they are made here, around its parts, in this process alone. A control
shows that an attack is one: with its defence away it reaches what it is after.
"""

from __future__ import annotations

import hashlib
import hmac
import http.server
import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from orchestrator.checks.command import CommandExecutor
from orchestrator.contract import CheckExecutor, Step, StepResult
from orchestrator.documents.benchmark import Benchmark, Task
from orchestrator.documents.rubric import Rubric
from orchestrator.evidence import RoomJudge, _perform
from orchestrator.tasks.states import TaskState
from orchestrator.testreports import Reporter, TestReport, built_in
from orchestrator.testreports.jsonlines import JUDGE_FOLDER, judge_layer, nonces
from sandboxes.errors import SandboxLost
from sandboxes.protocol import Provider, Sandbox
from sandboxes.spec import Entry, Layer, Outside, RoomSpec

from .corpus import Candidate

FOLDER, PORT = "ATTACK_FOLDER", "ATTACK_PORT"
"""Variables of this process: the folder of the machine that holds every fix, and the port of its loopback
that serves them. No room gets them."""

Resolve = Callable[[str | None], Rubric | None]


@dataclass
class Stage:
    """One trial, before it begins; a switch changes it."""

    candidate: Candidate
    benchmark: Benchmark
    task: Task
    provider: Provider
    folder: Path
    agent: Any = None
    escaped: bool = False
    wrap: Callable[[Reporter], Reporter] | None = None
    """Around every reader of test reports; None leaves them as they are."""
    reading: bool = True
    """Whether test runners' reports are read at all."""
    edit: Callable[[dict[str, Any]], dict[str, Any]] = dict
    """What becomes of each check of the rubric."""
    tools_kind: Callable[[type[Any]], type[Any]] = lambda kind: kind

    def tools(self, kind: type[Any]) -> type[Any]:
        return self.tools_kind(kind)

    def executors(self, given: Iterable[CheckExecutor]) -> tuple[CheckExecutor, ...]:
        readers = tuple(map(self.wrap, built_in())) if self.wrap else built_in()
        ours = CommandExecutor(readers if self.reading else ())
        return tuple(ours if isinstance(each, CommandExecutor) else each for each in given)

    def rubrics(self, resolve: Resolve) -> Resolve:
        def edited(ref: str | None) -> Rubric | None:
            found = resolve(ref)
            if found is None:
                return None
            return found.model_copy(update={"checks": tuple(self.edit(dict(c)) for c in found.checks)})

        return edited


@dataclass(frozen=True)
class Switch:
    """One defence."""

    title: str
    """What it is, for the table."""
    off: Callable[[Stage, ExitStack], None]


# What a change may decide -----------------------------------------------------------------------------------


def _nothing_put_back_but_ours(stage: Stage, stack: ExitStack) -> None:
    lone = lambda protected, unprotected, ours, *rest: frozenset(ours).__contains__  # noqa: E731
    stack.enter_context(mock.patch("orchestrator.tasks.states.protection", lone))
    stack.enter_context(mock.patch("orchestrator.tasks.states.put_back_keys", lambda *trees: {}))


def _nothing_put_back(stage: Stage, stack: ExitStack) -> None:
    none = lambda *given: lambda path: False  # noqa: E731
    stack.enter_context(mock.patch("orchestrator.tasks.states.protection", none))
    stack.enter_context(mock.patch("orchestrator.tasks.states.put_back_keys", lambda *trees: {}))


def _obeyed_config(stage: Stage, stack: ExitStack) -> None:
    _nothing_put_back_but_ours(stage, stack)
    stack.enter_context(mock.patch("orchestrator.checks.contest.Contest._put_back", lambda contest: ()))


def _naive_patching(stage: Stage, stack: ExitStack) -> None:
    """Lines are written wherever the patch says, links and all."""
    top = stage.folder / "naive"
    tree = top / "tree"
    (tree / ".git" / "hooks").mkdir(parents=True)
    (top / "outside").mkdir()
    before = {path for path in top.rglob("*") if path.is_file()}
    _write_naively(stage.candidate.patch, tree)
    new = {path.resolve() for path in top.rglob("*") if path.is_file()} - before
    stage.escaped = any(tree not in path.parents or ".git" in path.parts for path in new)


def _write_naively(patch: str, tree: Path) -> None:
    place: Path | None = None
    link = False
    for line in patch.splitlines():
        if line.startswith("new file mode"):
            link = line.endswith("120000")
        elif line.startswith("+++ "):
            name = line[4:].removeprefix("b/").strip('"')
            place = tree / name.replace("/outside/", f"{tree.parent}/outside/")
            place.parent.mkdir(parents=True, exist_ok=True)
        elif line.startswith("+") and place is not None:
            if link:
                place.symlink_to(line[1:])
            else:
                place.write_text(line[1:])


# Test reports -----------------------------------------------------------------------------------------------


class _Wrapped:
    """A reporter with something taken away."""

    def __init__(self, inner: Reporter) -> None:
        self.inner = inner
        self.name, self.names_tests = inner.name, inner.names_tests

    def recognises(self, command: str) -> bool:
        return self.inner.recognises(command)

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        return self.inner.step(command, env, token)

    def read(self, result: StepResult, token: str) -> TestReport:
        return self.inner.read(result, token)


class _Unwatched(_Wrapped):
    def read(self, result: StepResult, token: str) -> TestReport:
        return replace(super().read(result, token), changed=(), hooks=())


class _WithoutCanaries(_Wrapped):
    def read(self, result: StepResult, token: str) -> TestReport:
        report = super().read(result, token)
        return replace(report, changed=tuple(w for w in report.changed if not w.startswith("canary: ")))


class _Keyless(_Wrapped):
    """Believes every line it can read, whoever wrote it."""

    def read(self, result: StepResult, token: str) -> TestReport:
        files = {path: data and _signed(data, nonces(token)) for path, data in result.files.items()}
        return super().read(replace(result, files=files), token)


def _signed(data: bytes, keys: Iterable[str]) -> bytes:
    runs: dict[str, list[dict[str, Any]]] = {}
    for line in data.splitlines():
        try:
            facts = json.loads(line)
            runs.setdefault(facts["run"], []).append(facts)
        except (ValueError, KeyError, TypeError):
            continue
    out = b""
    for (run, lines), key in zip(runs.items(), keys, strict=False):
        mac = hmac.new(key.encode(), digestmod=hashlib.sha256)
        ended = any(line["kind"] == "end" for line in lines)
        body = [line for line in lines if line["kind"] != "end"]
        for line in body:
            text = json.dumps(line).encode() + b"\n"
            mac.update(text)
            out += text
        if ended:
            last = next(line for line in lines if line["kind"] == "end")
            ran = len({line["id"] for line in body if line["kind"] == "test"})
            last |= {"run": run, "lines": len(body), "ran": ran, "digest": mac.hexdigest()}
            out += json.dumps(last).encode() + b"\n"
    return out


def _exit_codes_alone(stage: Stage, stack: ExitStack) -> None:
    stage.reading = False
    stage.task = stage.task.model_copy(update={"expected": {}})


def _no_lists(stage: Stage, stack: ExitStack) -> None:
    stage.task = stage.task.model_copy(update={"expected": {}})
    stack.enter_context(mock.patch("orchestrator.checks.runs.dodged", lambda before, after: None))


def _no_comparing(stage: Stage, stack: ExitStack) -> None:
    stack.enter_context(mock.patch("orchestrator.checks.runs.dodged", lambda before, after: None))


def _unwatched(stage: Stage, stack: ExitStack) -> None:
    stage.wrap = _Unwatched


def _no_canaries(stage: Stage, stack: ExitStack) -> None:
    stage.wrap = _WithoutCanaries


def _keyless(stage: Stage, stack: ExitStack) -> None:
    stage.wrap = _Keyless


def _known_token(stage: Stage, stack: ExitStack) -> None:
    known = SimpleNamespace(token_hex=lambda size: "known")
    stack.enter_context(mock.patch("orchestrator.checks.runs.secrets", known))


def _key_in_the_environment(stage: Stage, stack: ExitStack) -> None:
    told = lambda step, token: step  # noqa: E731
    stack.enter_context(mock.patch("orchestrator.checks.runs.keys_in_files", told))


def _work_tree_first(stage: Stage, stack: ExitStack) -> None:
    """The plug-ins are loaded as any module is, with the work tree first on the import path."""

    def entries() -> Iterator[Entry]:
        for entry in judge_layer().entries():
            if entry.path == b"start/sitecustomize.py":
                loose = b"import os\nsys.path.insert(0, os.getcwd())\n_take_post()\n"
                text = entry.data.replace(b"_with_our_library_only(_take_post)\n", loose)
                text = text.replace(b"        _load_what_pytest_needs()\n", b"")
                entry = replace(entry, data=text)
            yield entry

    layer = Layer("loose-judge", JUDGE_FOLDER, entries)
    for place in ("pytest_report", "unittest_report"):
        stack.enter_context(mock.patch(f"orchestrator.testreports.{place}.judge_layer", lambda: layer))
    stage.wrap = _Unwatched


def _loose_modules(stage: Stage, stack: ExitStack) -> None:
    from orchestrator.testreports import node_report

    real = node_report._options
    loose = lambda command: real(command).replace(f"--require={JUDGE_FOLDER}/proctor_fixed.cjs ", "")  # noqa: E731
    stack.enter_context(mock.patch.object(node_report, "_options", loose))


def _failures_uncounted(stage: Stage, stack: ExitStack) -> None:
    from orchestrator.testreports import phpunit_report

    stack.enter_context(mock.patch.object(phpunit_report, "contradiction", lambda *given: ""))


# Rooms ------------------------------------------------------------------------------------------------------


class _Around:
    """A provider that does one thing differently."""

    def __init__(self, inner: Provider, change: Callable[[RoomSpec], RoomSpec] = lambda spec: spec) -> None:
        self._inner = inner
        self._change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @contextmanager
    def provision(self, spec: RoomSpec) -> Iterator[Sandbox]:
        with self._inner.provision(self._change(spec)) as room:
            yield room


class _OneRoom(_Around):
    """The agent's room stays open, and the judge asks in it."""

    def __init__(self, inner: Provider, stack: ExitStack) -> None:
        super().__init__(inner)
        self._stack = stack
        self.room: Sandbox | None = None

    @contextmanager
    def provision(self, spec: RoomSpec) -> Iterator[Sandbox]:
        if self.room is None:
            self.room = self._stack.enter_context(self._inner.provision(spec))
            yield self.room
        else:
            with self._inner.provision(spec) as room:
                yield room


def _one_room(stage: Stage, stack: ExitStack) -> None:
    shared = _shared(stage, stack)

    def ask(judge: RoomJudge, spec: RoomSpec, steps: Any, deadline: Any, *, change: bool = False) -> Any:
        if not change or shared.room is None:
            return real(judge, spec, steps, deadline, change=change)
        shared.room.write(judge.trees.entries(judge.graded_tree), judge.workdir, owner="candidate")
        return tuple(_perform(shared.room, step, deadline) for step in steps)

    real = RoomJudge._ask
    stack.enter_context(mock.patch.object(RoomJudge, "_ask", ask))


def _one_container(stage: Stage, stack: ExitStack) -> None:
    """Agent and judge work in one container, so that what the agent started is still there."""
    shared = _shared(stage, stack)

    def ask(judge: RoomJudge, spec: RoomSpec, steps: Any, deadline: Any, *, change: bool = False) -> Any:
        if not change or shared.room is None:
            return real(judge, spec, steps, deadline, change=change)
        shared.room.write(judge.trees.entries(judge.graded_tree), "/tmp/ours", owner="candidate")
        (step,) = steps
        both = f"({stage.candidate.agent}) >/dev/null 2>&1; cp -a /tmp/ours/. .; sleep 1; {step.command.argv}"
        return (_perform(shared.room, Step(replace(step.command, argv=both)), deadline),)

    real = RoomJudge._ask
    stack.enter_context(mock.patch.object(RoomJudge, "_ask", ask))


def _shared(stage: Stage, stack: ExitStack) -> _OneRoom:
    shared = _OneRoom(stage.provider, stack)
    stage.provider = shared  # type: ignore[assignment]
    return shared


def _with_network(stage: Stage, stack: ExitStack) -> None:
    stage.provider = _Around(stage.provider, lambda spec: replace(spec, outside=Outside()))  # type: ignore[assignment]


def _with_folder(stage: Stage, stack: ExitStack) -> None:
    seen = Outside((os.environ[FOLDER],))
    stage.provider = _Around(stage.provider, lambda spec: replace(spec, outside=seen))  # type: ignore[assignment]


def _with_environment(stage: Stage, stack: ExitStack) -> None:
    def told(spec: RoomSpec) -> RoomSpec:
        return replace(spec, env={**_words(), **spec.env})

    def _words() -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if name.startswith("ATTACK_")}

    stage.provider = _Around(stage.provider, told)  # type: ignore[assignment]


def _limits_are_trouble(stage: Stage, stack: ExitStack) -> None:
    def perform(room: Sandbox, step: Step, deadline: Any) -> StepResult:
        result = _perform(room, step, deadline)
        if result.done.limit:
            raise SandboxLost(f"the room did not answer: {result.done.end}")
        return result

    stack.enter_context(mock.patch("orchestrator.evidence._perform", perform))


def _with_history(stage: Stage, stack: ExitStack) -> None:
    """The agent's repository is the project's own, with the fix in it."""
    stage.tools_kind = lambda kind: type("Leaking", (kind,), {"agents_room": _leaking(kind, _history)})


def _with_hidden_files(stage: Stage, stack: ExitStack) -> None:
    def judged(state: TaskState) -> Iterator[Entry]:
        yield from state.store.entries(state.judge_tree)

    stage.tools_kind = lambda kind: type("Leaking", (kind,), {"agents_room": _leaking(kind, judged)})


def _leaking(kind: type[Any], entries: Callable[[TaskState], Iterator[Entry]]) -> Any:
    def agents_room(tools: Any, state: TaskState) -> RoomSpec:
        spec: RoomSpec = kind.agents_room(tools, state)
        held = tuple(entries(state))
        digest = hashlib.sha256(b"".join(e.path + e.data for e in held)).hexdigest()
        layer = Layer(f"leak-{digest}", spec.workdir, lambda: iter(held), writable=True)
        return replace(spec, layers=(*spec.layers[:-1], layer))

    return agents_room


def _history(state: TaskState) -> Iterator[Entry]:
    with tempfile.TemporaryDirectory() as folder:
        git = ["git", "-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0"]
        fixed = answers()[state.task.id.partition("_")[0]]
        for entry in state.store.entries(state.base_tree):
            place = Path(folder, os.fsdecode(entry.path))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(entry.data)
            place.chmod(entry.mode & 0o777)
        subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
        broken = Path(folder, fixed[0]).read_text()
        for text, words in ((fixed[1], "Mend it"), (broken, "Break it again for the task")):
            Path(folder, fixed[0]).write_text(text)
            subprocess.run([*git, "add", "-A"], check=True)
            subprocess.run([*git, "commit", "-qm", words], check=True)
        subprocess.run([*git, "branch", "later", "HEAD~1"], check=True)
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                mode = 0o100755 if path.stat().st_mode & 0o100 else 0o100644
                yield Entry(os.fsencode(path.relative_to(folder)), mode, path.read_bytes())


# Capture, judges, scores ------------------------------------------------------------------------------------


def _git_in_the_agents_tree(stage: Stage, stack: ExitStack) -> None:
    """The change is taken with git, in a copy of the agent's own repository."""
    from orchestrator.worktree.change import Change

    real = Change.capture

    def capture(store: Any, base: str, sandbox: Sandbox, workdir: str) -> Change:
        top = stage.folder / "captured"
        for entry in sandbox.export(workdir):
            place = top / os.fsdecode(entry.path)
            place.parent.mkdir(parents=True, exist_ok=True)
            if entry.mode == 0o120000:
                place.symlink_to(os.fsdecode(entry.data))
            elif entry.mode != 0o040000:
                place.write_bytes(entry.data)
                place.chmod(entry.mode & 0o777)
        mark = stage.folder / "captured" / "was-here"
        git = ["git", "-C", str(top), "-c", "safe.directory=*"]
        for words in (["status"], ["diff", "HEAD"]):
            subprocess.run([*git, *words], capture_output=True, env={**os.environ, "HOME": str(top)})
        stage.escaped = mark.exists()
        return real(store, base, sandbox, workdir)

    stack.enter_context(mock.patch.object(Change, "capture", capture))


def _plain_prompt(stage: Stage, stack: ExitStack) -> None:
    def plain(question: str, criteria: str, response: str) -> str:
        return f"Question: {question}\nCriteria: {criteria}\nResponse:\n```\n{response}\n```\n"

    stack.enter_context(mock.patch("orchestrator.graders.judge.material", plain))


def _loosened(*names: str) -> Callable[[Stage, ExitStack], None]:
    def off(stage: Stage, stack: ExitStack) -> None:
        before = stage.edit

        def edit(check: dict[str, Any]) -> dict[str, Any]:
            made = before(check)
            metadata = made.get("metadata", {})
            allowed = sorted({*metadata.get("allow", ()), *names})
            return made | {"metadata": {**metadata, "allow": allowed}}

        stage.edit = edit

    return off


def _no_guard(stage: Stage, stack: ExitStack) -> None:
    _loosened("code_lines")(stage, stack)
    before = stage.edit
    stage.edit = lambda check: {k: v for k, v in before(check).items() if k != "guard_command"}


def _tail_is_enough(stage: Stage, stack: ExitStack) -> None:
    stack.enter_context(
        mock.patch("orchestrator.testreports.printed.printed_text", lambda result: result.done.stdout.text)
    )


def _totals_do_not_matter(stage: Stage, stack: ExitStack) -> None:
    from orchestrator.testreports import tap_report

    real = tap_report.read_points
    loose = lambda text: replace(real(text), end="graded", problems=())  # noqa: E731
    stack.enter_context(mock.patch.object(tap_report, "read_points", loose))


SWITCHES: Mapping[str, Switch] = {
    "protected_files": Switch("files that steer a run are put back", _nothing_put_back_but_ours),
    "own_files_last": Switch("the task's own tests are written last", _nothing_put_back),
    "test_reports": Switch("a run proves itself by its report, not by its exit code", _exit_codes_alone),
    "test_lists": Switch("each listed test must really have passed", _no_lists),
    "skips_compared": Switch("a test that ran without the change must run with it", _no_comparing),
    "runner_watch": Switch("what the runner was is compared with what it is", _unwatched),
    "canaries": Switch("tests of the judge's own must fail and pass in between", _no_canaries),
    "report_key": Switch("every report carries a keyed digest", _keyless),
    "fresh_token": Switch("report path and key are new for every run", _known_token),
    "key_read_once": Switch("the key is gone before the candidate's code runs", _key_in_the_environment),
    "our_modules_first": Switch("the judge's plug-ins load before the work tree can", _work_tree_first),
    "asserts_are_fixed": Switch("node's assert module cannot be changed where tests run", _loose_modules),
    "failures_counted": Switch("a report must fit the totals that were printed", _failures_uncounted),
    "totals_must_fit": Switch("a printed plan and its lines must add up", _totals_do_not_matter),
    "whole_output": Switch("a report that was cut is no report", _tail_is_enough),
    "fresh_rooms": Switch("the judge never works in the agent's room", _one_room),
    "no_survivors": Switch("no process outlives its command", _one_container),
    "no_network": Switch("rooms have no network", _with_network),
    "named_files_only": Switch("rooms hold what the task names, nothing else of the machine", _with_folder),
    "closed_environment": Switch("rooms get no variable of the machine", _with_environment),
    "no_history": Switch("the agent's repository has one commit", _with_history),
    "hidden_until_judged": Switch("hidden files are in the judge's rooms only", _with_hidden_files),
    "limits_are_failures": Switch("a limit that is hit is the candidate's failure", _limits_are_trouble),
    "whole_patches": Switch("a patch stays in the work tree, or is refused", _naive_patching),
    "files_are_read": Switch("the change is read from files; nothing of the agent's repository runs",
                             _git_in_the_agents_tree),
    "material_is_data": Switch("a judge gets the response as data", _plain_prompt),
    "our_analysis": Switch("analysers are configured from our side", _obeyed_config),
    "suppressions_counted": Switch("comments that silence a tool are counted", _loosened("suppressions")),
    "parse_guard": Switch("files that parsed must parse", _loosened("parse", "code_lines")),
    "code_guard": Switch("code may not vanish or hide", _loosened("code_lines")),
    "files_guard": Switch("what leaves the analysis is counted back", _loosened("deletions", "code_lines")),
    "guard_command": Switch("the guard command must pass first", _no_guard),
}  # fmt: skip


def answers() -> Mapping[str, tuple[str, str]]:
    """By the beginning of a task's id: the file to mend, and its text once mended."""
    data = json.loads((Path(__file__).parent / "data" / "answers.json").read_text())
    return {name: (found["path"], found["text"]) for name, found in data.items()}


@contextmanager
def bait() -> Iterator[None]:
    """The machine holds the fix meanwhile: in a folder, in a variable, and on a port of its loopback."""
    with tempfile.TemporaryDirectory(prefix="proctor-answer-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        for path, text in answers().values():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        handler = lambda *given: _Quiet(*given, directory=folder)  # noqa: E731
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            words = {f"ATTACK_{name.upper()}": text for name, (_, text) in answers().items()}
            words |= {FOLDER: folder, PORT: str(server.server_port)}
            with mock.patch.dict(os.environ, words):
                yield
            server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *given: Any) -> None:
        """Nobody wants to read it."""
