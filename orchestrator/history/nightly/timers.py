"""What starts a night: units of systemd, a line for cron, workflows of GitHub and GitLab. Pure text."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from orchestrator.documents.nightly import Nightly


def units(config: Nightly, command: str, folder: Path) -> dict[str, str]:
    """The systemd service and timer, by file name.

    `Persistent` makes up for a night that was missed while the machine was off; systemd never starts a
    service twice at a time, and proctor would refuse it, too.
    """
    name = f"proctor-nightly-{config.id}"
    service = f"""\
[Unit]
Description=proctor nightly {config.id}
Documentation=man:systemd.timer(5)

[Service]
Type=oneshot
WorkingDirectory={_escaped(str(folder))}
ExecStart={_quoted(command)} nightly run {_quoted(str(config.file))} --if-due
TimeoutStartSec=infinity
KillSignal=SIGINT
Nice=10
"""
    timer = f"""\
[Unit]
Description=Starts proctor nightly {config.id} every night

[Timer]
OnCalendar=*-*-* {config.at}:00
Persistent=true

[Install]
WantedBy=timers.target
"""
    return {f"{name}.service": service, f"{name}.timer": timer}


def cron(config: Nightly, command: str, folder: Path) -> str:
    """Lines for `crontab -e`: at the hour, and every hour in case that one was missed."""
    hour, minute = config.at.split(":")
    line = (
        f"cd {shlex.quote(str(folder))} && {shlex.quote(command)} nightly run {shlex.quote(str(config.file))}"
    )
    line = line.replace("%", "\\%")
    return f"""\
# proctor nightly {config.id}: when it is due, and once an hour in case the machine was off then
{int(minute)} {int(hour)} * * * {line} --if-due
{(int(minute) + 30) % 60} * * * * {line} --if-due --quiet
"""


def github(config: Nightly, command: str, folder: Path) -> str:
    """A workflow for .github/workflows; the nights live in the cache, so that there is a baseline."""
    hour, minute = config.at.split(":")
    file, nights = _relative(config.file, folder), _relative(config.root, folder)
    return f"""\
name: nightly-{config.id}
on:
  schedule:
    - cron: "{int(minute)} {int(hour)} * * *" # UTC
  workflow_dispatch:
concurrency: nightly-{config.id}
jobs:
  night:
    runs-on: ubuntu-latest
    timeout-minutes: 350
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {{python-version: "{sys.version_info[0]}.{sys.version_info[1]}"}}
      - run: pip install proctor
      - uses: actions/cache@v4
        with:
          path: {nights}
          key: nights-{config.id}-${{{{ github.run_id }}}}
          restore-keys: nights-{config.id}-
      - run: proctor nightly run {shlex.quote(file)}
      - uses: actions/upload-artifact@v4
        if: always()
        with: {{name: nights, path: {nights}}}
"""


def gitlab(config: Nightly, command: str, folder: Path) -> str:
    """A job for .gitlab-ci.yml; add a schedule under Build > Pipeline schedules."""
    hour, minute = config.at.split(":")
    file, nights = _relative(config.file, folder), _relative(config.root, folder)
    return f"""\
# Build > Pipeline schedules: {int(minute)} {int(hour)} * * *
nightly-{config.id}:
  rules:
    - if: $CI_PIPELINE_SOURCE == "schedule"
  resource_group: nightly-{config.id}
  timeout: 6 hours
  script:
    - pip install proctor
    - proctor nightly run {shlex.quote(file)}
  cache:
    key: nights-{config.id}
    paths: [{nights}]
    when: always
  artifacts:
    paths: [{nights}]
    when: always
"""


SNIPPETS: Mapping[str, Callable[[Nightly, str, Path], str]] = {
    "cron": cron,
    "github": github,
    "gitlab": gitlab,
}
"""Printed, not written, by the word of `--for`."""


def _relative(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def _quoted(word: str) -> str:
    """A word of a systemd command line."""
    bare = _escaped(word).replace("$", "$$")
    if re.fullmatch(r"[\w./:@=+,-]+", bare):
        return bare
    return '"' + bare.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _escaped(word: str) -> str:
    """`%` begins a specifier of systemd."""
    return word.replace("%", "%%")
