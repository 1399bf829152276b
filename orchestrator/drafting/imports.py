"""Which packages some Python files need: read from their text, never by importing them."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator

OTHER_NAMES = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "google": "protobuf",
    "jwt": "PyJWT",
    "OpenSSL": "pyOpenSSL",
    "PIL": "pillow",
    "pkg_resources": "setuptools",
    "ruamel": "ruamel.yaml",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}
"""Modules whose distribution has another name."""
PLUGINS = {
    r"\bpytest\.mark\.asyncio\b": "pytest-asyncio",
    r"\bmocker\b": "pytest-mock",
    r"\bdef test\w*\([^)]*\bbenchmark\b": "pytest-benchmark",
    r"\bdef test\w*\([^)]*\bsubtests\b": "pytest-subtests",
}
"""Words of test files -> the pytest plug-in they mean."""


def modules(text: str) -> set[str]:
    """Top-level names that a file imports for sure: not inside a `try`, a function or a condition.

    >>> sorted(modules("import os, six\\nfrom a.b import c\\nfrom . import d\\ntry: import q\\nexcept: pass"))
    ['a', 'os', 'six']
    """
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError):
        return set()
    return {name.partition(".")[0] for statement in body for name in _names(statement)}


def foreign(texts: Iterable[str], own: Iterable[str]) -> set[str]:
    """Imported modules that are neither Python's nor among `own`."""
    found = {name for text in texts for name in modules(text)}
    return found - set(sys.stdlib_module_names) - set(own) - {"pytest", "_pytest"}


def plugins(texts: Iterable[str]) -> set[str]:
    """Plug-ins of pytest that test files speak of."""
    whole = "\n".join(texts)
    return {plugin for words, plugin in PLUGINS.items() if re.search(words, whole)}


def distribution(module: str) -> str:
    """The distribution that most likely brings a module.

    >>> distribution("yaml"), distribution("six")
    ('PyYAML', 'six')
    """
    return OTHER_NAMES.get(module, module)


def missing(output: str) -> set[str]:
    """Modules that a run could not import."""
    return {name.partition(".")[0] for name in re.findall(r"No module named '([\w.]+)'", output)}


def _names(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.Import):
        yield from (alias.name for alias in statement.names)
    elif isinstance(statement, ast.ImportFrom) and not statement.level and statement.module:
        yield statement.module
