"""`cargo test`, by what libtest prints.

Stable Rust can be asked for no other report. The lines are held against libtest's totals and against the list
of binaries that cargo prints beside them, and prove no more than what is printed can.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from orchestrator.contract import Step, StepResult
from orchestrator.testreports.report import ReportEnd, Status, TestReport, once, printed_text
from sandboxes.spec import Command

_RUNS_TEST = re.compile(r"""(?:^|[\s;&|(/"'`])cargo(?:\s+[-+][^\s;&|]+)*\s+(?:test|t)(?=$|[\s;&|)"'`])""")
ESCAPES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_BINARY = re.compile(
    r"^ +(?:Running (?:unittests )?(?P<path>.+) \((?P<file>.+)\)|Doc-tests (?P<doc>\S+))\s*$", re.M
)
BROKEN = re.compile(r"^error(?:\[E\d+\])?: (?:could not compile .*|.*aborting due to .*)$", re.M)
_BEGIN = re.compile(r"running (\d+) tests?")
_LINE = re.compile(
    r"test (?P<name>.+) \.\.\. (?P<word>ok|FAILED|ignored|bench:)(?P<more>(?:,| |<|$).*)", re.S
)
_TOTALS = re.compile(
    r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored; (\d+) measured; \d+ filtered out.*"
)
_WORDS: Mapping[str, Status] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped", "bench:": "unknown"}
_TOTALLED: tuple[Status, ...] = ("passed", "failed", "skipped", "unknown")
NO_COLOUR = {"CARGO_TERM_COLOR": "never"}


class CargoReporter:
    """Reads libtest of Rust 1.50 or newer. Ids are `binary path > module::test`, as cargo and libtest print
    them; those of doc tests are `crate doc-tests > file - item (line 5)`."""

    name = "cargo"
    names_tests = True

    def recognises(self, command: str) -> bool:
        return bool(_RUNS_TEST.search(command))

    def step(self, command: str, env: Mapping[str, str], token: str) -> Step:
        return Step(Command(command, env=NO_COLOUR))

    def read(self, result: StepResult, token: str) -> TestReport:
        text = printed_text(result)
        return text if isinstance(text, TestReport) else read_lines(text, result.done.stderr.text)


def read_lines(stdout: str, stderr: str) -> TestReport:
    """libtest's lines on `stdout`, and cargo's list of binaries on `stderr`."""
    stdout, stderr = ESCAPES.sub("", stdout), ESCAPES.sub("", stderr)
    blocks = list(_blocks(stdout.split("\n")))
    binaries = [_binary(found) for found in _BINARY.finditer(stderr)]
    broken = BROKEN.search(stderr)
    if not blocks:
        if broken:
            return TestReport("run_incomplete", problems=(f"cargo says: {broken[0]}",), tool="cargo test")
        return TestReport("report_missing", problems=("the command printed no line of Rust's test runner",))
    problems = [why for block in blocks if (why := block.problem)]
    owners = _owners(binaries, blocks)
    if owners is None:
        problems.append(
            f"cargo names {len(binaries)} test binaries and {len(blocks)} reported (leave out -q and -v)"
        )
        return TestReport("report_unreadable", problems=tuple(problems), tool="cargo test")
    statuses, doubled = once(
        (f"{binary} > {name}", status)
        for binary, block in zip(owners, blocks, strict=True)
        for name, status in block.tests
    )
    if broken:
        problems.append(f"cargo says: {broken[0]}")
    end: ReportEnd = "run_incomplete" if problems else "graded" if statuses else "nothing_ran"
    return TestReport(end, statuses, tuple(problems), doubled=doubled, tool="cargo test")


class _Block:
    """The lines of one test binary."""

    def __init__(self, planned: int) -> None:
        self.planned = planned
        self.tests: list[tuple[str, Status]] = []
        self.told: tuple[int, ...] = ()
        self.ends_docs = False
        """The last of a crate's doc tests, which Rust 2024 may run in two goes."""

    @property
    def problem(self) -> str:
        if not self.told:
            return f"a test binary never printed its totals ({len(self.tests)} of {self.planned} tests came)"
        counts = Counter(status for _, status in self.tests)
        if self.told != tuple(counts[status] for status in _TOTALLED) or sum(self.told) != self.planned:
            return f"a test binary's totals {self.told} do not fit its {len(self.tests)} lines (leave out -q)"
        return ""


def _blocks(lines: list[str]) -> Iterator[_Block]:
    """What stands between `failures:` and the totals is what tests printed."""
    block: _Block | None = None
    quoting = False
    for line in lines:
        if block is None or block.told:
            if found := _BEGIN.fullmatch(line):
                block, quoting = _Block(int(found[1])), False
                yield block
            elif block is not None and line.startswith("all doctests ran in "):
                block.ends_docs = True
        elif totals := _TOTALS.fullmatch(line):
            block.told = tuple(map(int, totals.groups()))
        elif line == "failures:":
            quoting = True
        elif not quoting and (test := _LINE.fullmatch(line)):
            block.tests.append((test["name"], _WORDS[test["word"]]))


def _owners(binaries: list[str], blocks: list[_Block]) -> list[str] | None:
    """Whose each block is; None when that cannot be told. Doc tests that end with a line of their own are two
    blocks, or one: all of them alike, else nobody knows."""
    more = len(blocks) - len(binaries)
    if more not in (0, sum(block.ends_docs for block in blocks)):
        return None
    owners: list[str] = []
    for binary in binaries:
        owners.append(binary)
        if more and any(block.ends_docs for block in blocks[len(owners) : len(owners) + 1]):
            owners.append(binary)
    return owners if len(owners) == len(blocks) else None


def _binary(found: re.Match[str]) -> str:
    if found["doc"]:
        return f"{found['doc']} doc-tests"
    file = found["file"].rpartition("/")[2]
    return f"{file.rpartition('-')[0] or file} {found['path']}"
