"""Patches of random repositories and random edits: captured, applied, taken back; and damaged ones.

python bench/patches.py [--count 10000] [--seed 1] [--jobs 2]

A round trip makes a repository, edits it as an agent might (names with spaces, quotes, newlines and any
bytes, renames, modes, links, binary files, CRLF, lost final newlines, empty files, files in the place of
folders), captures the change, and applies it to a clean copy: the trees must be equal, and equal to the first
again when it is taken back. The same edits in git's own words, with renames and copies, must give that tree,
too. Then a patch is damaged: it may apply, whole, or be refused by one of our words, and nothing else.

Ends with one line, and exits 1 when a single one went wrong; the seed of each that did is printed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

from orchestrator.worktree import patches
from orchestrator.worktree.change import Change, snapshot
from orchestrator.worktree.patches import PatchError
from orchestrator.worktree.trees import TreeStore
from sandboxes.spec import Entry

FILE, EXECUTABLE, LINK = 0o100644, 0o100755, 0o120000
Files = dict[bytes, tuple[int, bytes]]
"""Path -> mode and bytes."""

NAMES = (
    *(b"a", b"b.txt", b"src", b"lib", b"Makefile", b"with space", b" leading", b"trailing ", b"a b/c"[:3]),
    *(b'qu"ote', b"it's", b"back\\slash", b"tab\there", b"new\nline", b"\xc3\xa9t\xc3\xa9", b"e\xcc\x81"),
    *(
        b"\xff\xfe",
        b"\xf0\x9f\x90\x8d",
        b"-rf",
        b"--",
        b"*",
        b"[x]",
        b"?",
        b":(top)",
        b"#",
        b"~",
        b"$(id)",
        b"`id`",
    ),
    *(b"dev", b"null", b"=>", b"{a => b}", b"x" * 200, b"...", b".hidden", b".gitattributes", b"\x01\x7f"),
)
LINES = (
    *(b"one", b"two", b"", b" ", b"\ttab", b"trailing  ", b"-- ", b"--- a/x", b"+++ b/x", b"@@ -1 +1 @@"),
    *(
        b"diff --git a/x b/x",
        b"GIT binary patch",
        b"\\ No newline at end of file",
        b"Binary files a and b differ",
    ),
    *(
        b"index 000..111",
        b"rename from x",
        b"\xff\xfe",
        b"\xc3\xa9",
        b"<<<<<<< ours",
        b"\r",
        b"x" * 500,
        b"\x0c",
    ),
)
DAMAGE = (b"+", b"-", b" ", b"@", b"\n", b"\0", b"a/", b"../", b".git/", b"9", b"\r")


def repository(random: Random) -> Files:
    """Up to a dozen files in which no file is also a folder."""
    files: Files = {}
    for _ in range(random.randint(0, 12)):
        path = free_path(random, files)
        if path is not None:
            files[path] = content(random)
    return files


def edited(random: Random, files: Files) -> Files:
    """What an agent may have left: some of one to eight edits."""
    now = dict(files)
    for _ in range(random.randint(1, 8)):
        EDITS[random.randrange(len(EDITS))](random, now)
    return now


def free_path(random: Random, files: Files) -> bytes | None:
    """A path that clashes with none there is; None when chance found none."""
    for _ in range(5):
        folder = random.choice(sorted(files)).rpartition(b"/")[0] if files and random.random() < 0.5 else b""
        parts = [*filter(None, [folder]), *(random.choice(NAMES) for _ in range(random.randint(1, 3)))]
        path = b"/".join(parts)
        clash = any(p == path or p.startswith(path + b"/") or path.startswith(p + b"/") for p in files)
        if not clash and len(path) < 1000 and patches.unsafe(path) is None:
            return path
    return None


def content(random: Random) -> tuple[int, bytes]:
    """A file or a link."""
    kind = random.random()
    if kind < 0.12:
        return LINK, random.choice((b"a", b"../x", b"/etc/passwd", b"with space", b"\xff", b"a\nb", b"."))
    mode = EXECUTABLE if random.random() < 0.2 else FILE
    if kind < 0.2:
        return mode, b""
    if kind < 0.35:
        return mode, random.randbytes(random.choice((1, 7, 300, 5000)))
    return mode, text(random)


def text(random: Random) -> bytes:
    end = random.choice((b"\n", b"\n", b"\n", b"\r\n", b"\r"))
    lines = [random.choice(LINES) for _ in range(random.choice((1, 2, 5, 30, 80)))]
    return end.join(lines) + (end if random.random() < 0.75 else b"")


def add(random: Random, files: Files) -> None:
    path = free_path(random, files)
    if path is not None:
        files[path] = content(random)


def delete(random: Random, files: Files) -> None:
    if files:
        del files[random.choice(sorted(files))]


def rewrite(random: Random, files: Files) -> None:
    if files:
        files[random.choice(sorted(files))] = content(random)


def change_lines(random: Random, files: Files) -> None:
    path = _some_file(random, files)
    if path is None:
        return
    mode, data = files[path]
    lines = data.split(b"\n")
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(lines) + 1)
        lines[at : at + random.randint(0, 2)] = [random.choice(LINES) for _ in range(random.randint(0, 2))]
    files[path] = (mode, b"\n".join(lines))


def turn_final_newline(random: Random, files: Files) -> None:
    path = _some_file(random, files)
    if path is not None:
        mode, data = files[path]
        files[path] = (mode, data[:-1] if data.endswith(b"\n") else data + b"\n")


def turn_line_ends(random: Random, files: Files) -> None:
    path = _some_file(random, files)
    if path is not None:
        mode, data = files[path]
        files[path] = (
            mode,
            data.replace(b"\r\n", b"\n") if b"\r\n" in data else data.replace(b"\n", b"\r\n"),
        )


def turn_mode(random: Random, files: Files) -> None:
    path = _some_file(random, files)
    if path is not None:
        mode, data = files[path]
        files[path] = (FILE if mode == EXECUTABLE else EXECUTABLE, data)


def rename(random: Random, files: Files) -> None:
    if files:
        old = random.choice(sorted(files))
        kept = files.pop(old)
        files[free_path(random, files) or old] = kept


def copy(random: Random, files: Files) -> None:
    if files:
        kept = files[random.choice(sorted(files))]
        path = free_path(random, files)
        if path is not None:
            files[path] = kept


def rename_folder(random: Random, files: Files) -> None:
    folders = sorted({path.rpartition(b"/")[0] for path in files} - {b""})
    if not folders:
        return
    old, new = random.choice(folders), b"moved %d" % random.randrange(100)
    for path in sorted(files):
        if path.startswith(old + b"/") and not any(p == new for p in files):
            files[new + path[len(old) :]] = files.pop(path)


def folder_for_file(random: Random, files: Files) -> None:
    if files:
        path = random.choice(sorted(files))
        kept = files.pop(path)
        if len(path) < 900:
            files[path + b"/inside"] = kept


def file_for_folder(random: Random, files: Files) -> None:
    folders = sorted({path.partition(b"/")[0] for path in files if b"/" in path})
    if folders:
        folder = random.choice(folders)
        for path in [p for p in files if p.startswith(folder + b"/")]:
            del files[path]
        files[folder] = content(random)


def _some_file(random: Random, files: Files) -> bytes | None:
    found = sorted(path for path, (mode, _) in files.items() if mode != LINK)
    return random.choice(found) if found else None


EDITS = (
    *(
        add,
        add,
        delete,
        rewrite,
        change_lines,
        change_lines,
        change_lines,
        turn_final_newline,
        turn_line_ends,
    ),
    *(turn_mode, rename, copy, rename_folder, folder_for_file, file_for_folder),
)


def damaged(random: Random, patch: bytes) -> bytes:
    """The patch with one to three things wrong."""
    lines = patch.split(b"\n")
    for _ in range(random.randint(1, 3)):
        at, way = random.randrange(len(lines)), random.randrange(6)
        if way == 0:
            del lines[at : at + random.randint(1, 3)]
            lines = lines or [b""]
        elif way == 1:
            lines.insert(at, lines[random.randrange(len(lines))])
        elif way == 2:
            cut = random.randint(0, len(lines[at]))
            lines[at] = lines[at][:cut] + random.choice(DAMAGE) + lines[at][cut + random.randint(0, 2) :]
        elif way == 3:
            other = random.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        elif way == 4:
            lines[at] = lines[at].rstrip()
        else:
            lines = lines[: at + 1]
    return b"\n".join(lines)


def entries(files: Files) -> Iterator[Entry]:
    return (Entry(path, mode, data) for path, (mode, data) in files.items())


def round_trip(store: TreeStore, random: Random) -> tuple[str, str]:
    """What went wrong (empty when nothing did), and how the damaged patch ended. Raises PatchError."""
    before = repository(random)
    after = edited(random, before)
    old, new = store.add(entries(before)), store.add(entries(after))
    patch = store.diff(old, new)
    if old == new:  # the edits undid each other
        kept = snapshot(store, old, entries(after)) == old and patch == b""
        return "" if kept else "a change was captured where there is none", "empty"
    wrong = _whole(store, (old, new), patch, after) or _in_gits_words(store, old, new, patch)
    end, odd = _damage(store, old, damaged(random, patch))
    return wrong or odd, end


def _whole(store: TreeStore, trees: tuple[str, str], patch: bytes, after: Files) -> str:
    old, new = trees
    if snapshot(store, old, entries(after)) != new:
        return "the capture is another tree"
    change = Change.read(patch)
    if store.apply(old, change.patch) != new:
        return "applied, it gives another tree"
    if store.apply(new, change.patch, reverse=True) != old:
        return "taken back, it gives another tree"
    return ""


def _in_gits_words(store: TreeStore, old: str, new: str, ours: bytes) -> str:
    """Renames and copies, as candidates hand them in. A link that moves into a folder of its own name is more
    than git's own `apply` can do: such a patch is refused, whole."""
    options = ["-r", "-p", "--binary", "--full-index", "--find-renames", "--find-copies", "--no-ext-diff"]
    patch = store.repository.run(["diff-tree", *options, old, new]).stdout
    if patch == ours:
        return ""
    try:
        tree = store.apply(old, patch)
    except PatchError as refused:
        links = {path for path, node in store.nodes(old).items() if node.mode == LINK}
        moved = any(p.startswith(link + b"/") for link in links for p in patches.read(patch).touched)
        return "" if moved and refused.kind == "refused" else f"in git's own words: {refused}"
    return "" if tree == new else "git's own patch with renames gives another tree"


def _damage(store: TreeStore, old: str, patch: bytes) -> tuple[str, str]:
    """(how a damaged patch ended, what is wrong with that)."""
    try:
        tree = store.apply(old, patch)
    except PatchError as error:
        return error.kind, ""
    told = patches.read(patch)
    now = store.nodes(tree)
    strays = {d.path for d in store.differences(old, tree)} - set(told.touched)
    if strays:
        return "applied", f"it changed {strays}, which it does not name"
    last = {path: file for file in told.files for path in file.paths}
    for path, file in last.items():
        if (path == file.new) != (path in now):
            return "applied", f"only a part of it was applied: {path!r}"
    return "applied", ""


def _tried(store: TreeStore, random: Random) -> tuple[str, str]:
    try:
        return round_trip(store, random)
    except PatchError as refused:
        return f"refused ({refused.kind}): {refused}", "not damaged"


def work(task: tuple[int, int, int]) -> tuple[Counter[str], list[str]]:
    """Round trips of the seeds from `first`, `count` of them, in a store of their own."""
    seed, first, count = task
    ends: Counter[str] = Counter()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="proctor-patches-") as folder:
        store = TreeStore(Path(folder) / "trees")
        for number in range(first, first + count):
            problem, end = _tried(store, Random(f"{seed} trip {number}"))
            ends.update(("round trips", end))
            wrong += [f"--seed {seed}, number {number}: {problem}"] if problem else []
    return ends, wrong


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    began, size = time.monotonic(), 50
    tasks = [(asked.seed, at, min(size, asked.count - at)) for at in range(0, asked.count, size)]
    ends: Counter[str] = Counter()
    wrong: list[str] = []
    with multiprocessing.Pool(asked.jobs) as pool:
        for done, problems in pool.imap_unordered(work, tasks):
            ends += done
            wrong += problems
            for problem in problems:
                print(problem, flush=True)
            if sys.stderr.isatty():
                print(f"\r{ends['round trips']} of {asked.count}", end="", file=sys.stderr)
    trips = ends.pop("round trips")
    told = ", ".join(f"{count} {end}" for end, count in ends.most_common())
    seconds = time.monotonic() - began
    print(
        f"{trips} round trips, {len(wrong)} wrong; {ends.total()} damaged patches: {told} ({seconds:.0f} s)"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
