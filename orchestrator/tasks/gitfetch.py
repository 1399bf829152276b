"""Run by any Python: fetch one commit of a repository and pack it, without its history, for whoever asked.

Usage: python -I gitfetch.py URL REF FOLDER. Prints one JSON object: {"commit": id}, with the commit itself in
FOLDER/commit and its files in FOLDER/bundle; or {"problem": git's words}. Needs git, nothing else of ours.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SAFE = ("protocol.allow=never", "protocol.http.allow=always", "protocol.https.allow=always")
ME = ("user.name=proctor", "user.email=proctor@localhost")


def main(url: str, ref: str, into: str) -> dict[str, str]:
    folder = Path(into)
    clone = folder / "clone"
    git(folder, "init", "--quiet", "--bare", str(clone))
    problem = ""
    for depth in (["--depth=1"], []):
        wanted = [ref] if depth else ["+refs/*:refs/all/*"]
        done = git(
            clone, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", *depth, "--", url, *wanted
        )
        problem = problem or done.stderr.decode("utf-8", "replace").strip()
        for name in ["FETCH_HEAD"] if depth else [ref, f"refs/all/heads/{ref}", f"refs/all/tags/{ref}"]:
            found = git(clone, "rev-parse", "--verify", "-q", f"{name}^{{commit}}")
            if done.returncode == 0 and found.returncode == 0:
                return packed(clone, folder, found.stdout.decode().strip())
    return {"problem": problem}


def packed(clone: Path, folder: Path, commit: str) -> dict[str, str]:
    """The commit's files as a bundle of a commit that has no parents."""
    (folder / "commit").write_bytes(git(clone, "cat-file", "commit", commit).stdout)
    alone = git(clone, "commit-tree", f"{commit}^{{tree}}", "-m", commit)
    git(clone, "update-ref", "refs/heads/alone", alone.stdout.decode().strip())
    done = git(clone, "bundle", "create", "--quiet", str(folder / "bundle"), "refs/heads/alone")
    return {"commit": commit} if done.returncode == 0 else {"problem": done.stderr.decode("utf-8", "replace")}


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    options = [word for setting in (*SAFE, *ME) for word in ("-c", setting)]
    return subprocess.run(
        ["git", *options, *words], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, check=False
    )


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
