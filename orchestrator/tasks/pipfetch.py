"""Run by pip's own Python: fetch one sdist with pip's finder and session, and build nothing.

Usage: python -I pipfetch.py PACKAGE VERSION FILE. The last line printed is JSON: {"url": ...}, or {"missing":
sentence}, or {"unreachable": sentence}. Imports only pip, and that only when it is run; the parts of pip used
here are the same from pip 20.1 to 26.
"""

# mypy: ignore-errors

from __future__ import annotations

import json
import logging
import sys


def main(package: str, version: str, into: str) -> dict[str, str]:
    from pip._internal.commands import create_command

    command = create_command("download")
    options, _ = command.parse_args(["--no-deps", "--no-binary", ":all:", package])
    failures = _Failures()
    logger = logging.getLogger("pip._internal.index.collector")
    logger.setLevel(logging.DEBUG)
    logger.addHandler(failures)
    with command.main_context():
        session = command.get_default_session(options)
        finder = command._build_package_finder(options=options, session=session, ignore_requires_python=True)
        found = finder.find_all_candidates(package)
        chosen = [c for c in found if str(c.version) == _canonical(version) and not c.link.is_wheel]
        if not chosen:
            return _nothing(package, version, found, failures)
        link = chosen[-1].link
        if link.is_yanked:
            return {
                "missing": f"{package} {version} was withdrawn: {link.yanked_reason or 'no reason given'}"
            }
        return _download(session, link, into)


def _download(session, link, into):
    from pip._vendor.requests.exceptions import RequestException

    try:
        answer = session.get(link.url.split("#", 1)[0], headers={"Accept-Encoding": "identity"}, stream=True)
        answer.raise_for_status()
        with open(into, "wb") as file:  # noqa: PTH123 nothing but pip is imported here
            while chunk := answer.raw.read(1 << 18):
                file.write(chunk)
    except (RequestException, OSError) as error:
        return {"unreachable": str(error)}
    return {"url": link.filename}


def _nothing(package, version, found, failures):
    if not found and failures.seen:
        return {"unreachable": failures.seen[-1]}
    if not found:
        return {"missing": f"the index knows no package {package}, or no source release of it"}
    if any(str(c.version) == _canonical(version) for c in found):
        return {"missing": f"{package} {version} has wheels only and no source archive"}
    known = sorted({c.version for c in found})[-8:]
    names = ", ".join(str(v) for v in known)
    return {"missing": f"the index has no {package} {version} (its latest are {names})"}


def _canonical(version):
    from pip._vendor.packaging.version import InvalidVersion, Version

    try:
        return str(Version(version))
    except InvalidVersion:
        return version


class _Failures(logging.Handler):
    """Pages that could not be fetched, other than those that are simply not there."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.seen = []

    def emit(self, record):
        text = record.getMessage()
        if "Could not fetch URL" in text and "404" not in text and "file:" not in text:
            self.seen.append(text)


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
