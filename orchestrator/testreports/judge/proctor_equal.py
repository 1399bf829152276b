"""Asks what a test has just found equal whether it equals a stranger as well.

An object whose `==` says yes to everything satisfies every comparison. After one that held, the odd side of
it is compared with a value of the other side's kind that nobody could know beforehand. Plain values are never
asked, nor objects that mocks and test runners bring for this very purpose, nor those that test files define.

What this cannot notice: objects that look who is asking, or that know what is asked of them.
"""

# Runs under the candidate's own Python, down to 3.6.
# mypy: ignore-errors
# ruff: noqa: PTH119

import ast
import os
import random
import sys

_PLAIN = (int, float, complex, bool, str, bytes, type(None))
_FRIENDS = ("unittest.mock", "mock.", "_pytest.", "pytest", "hypothesis.", "dirty_equals", "numpy")
_MOST = 200
"""Parts of one value that are looked at."""
_random = random.SystemRandom()
_word = _random.getrandbits
_nobody = object()


def asking(write):
    """A function of two values that were equal; `write` is told the names of those that equal everything."""
    told = set()

    def compared(first, second):
        for odd, other in _pairs(first, second):
            kind = type(odd)
            name = "%s.%s" % (kind.__module__, kind.__qualname__)  # noqa: UP031
            if name not in told and not _known(kind) and _equals_a_stranger(odd, other):
                told.add(name)
                write("changed", what="equal to everything: " + name)

    return compared


def _pairs(first, second):
    """(odd, other) for every pair of parts of which one is no plain value."""
    open_, seen = [(first, second)], 0
    while open_ and seen < _MOST:
        a, b = open_.pop()
        seen += 1
        if type(a) in _PLAIN and type(b) in _PLAIN:
            continue
        if type(a) is type(b) and type(a) in (list, tuple) and len(a) == len(b):
            open_.extend(zip(a, b))  # noqa: B905
        elif type(a) is type(b) is dict:
            open_.extend((a[key], b[key]) for key in a if key in b)
        else:
            if type(a) not in _PLAIN:
                yield a, b
            if type(b) not in _PLAIN:
                yield b, a


def _known(kind):
    module = str(kind.__module__)
    if module == "builtins" or module.startswith(_FRIENDS):
        return True
    home = sys.modules.get(module)
    name = os.path.basename(getattr(home, "__file__", None) or "")
    ours = name.startswith("test") or name == "conftest.py" or "tests" in module.split(".")
    return ours and getattr(home, kind.__name__, None) is kind


def _equals_a_stranger(odd, other):
    strange = str(_word(128))
    strangers = {
        int: _word(62) + 2, float: _random.random() + 2.0, complex: complex(_word(40), 1), str: strange,
        bytes: strange.encode(), list: [strange], tuple: (strange,), dict: {strange: strange}, set: {strange},
    }  # fmt: skip
    try:
        return bool(odd == strangers.get(type(other), object())) and bool(odd == _nobody)
    except Exception:
        return False


def watch_asserts(compared):
    """Have pytest's rewritten `assert a == b` call `compared(a, b)` where it held. Pytests that rewrite in
    another way than 6 to 9 do are left alone."""
    try:
        from _pytest.assertion import rewrite

        real = rewrite.AssertionRewriter.visit_Compare
    except (ImportError, AttributeError):
        return

    def visit_Compare(self, node):
        start = len(self.statements)
        answer = real(self, node)
        try:
            for at in range(len(self.statements) - 1, start - 1, -1):
                value = getattr(self.statements[at], "value", None)
                if isinstance(value, ast.Compare) and isinstance(value.ops[0], ast.Eq):
                    args = [_loaded(value.left), _loaded(value.comparators[0])]
                    target = self.statements[at].targets[0].id
                    call = ast.Expr(ast.Call(_ours(), args, []))
                    look = ast.If(ast.Name(target, ast.Load()), [call], [])
                    self.statements.insert(at + 1, ast.copy_location(look, node))
        except (AttributeError, IndexError):
            pass
        return answer

    def told(first, second):
        try:
            compared(first, second)
        except Exception:
            pass

    # What is kept of a rewritten file calls us, so that no pytest without us may take it.
    rewrite.PYC_TAIL = ".proctor" + getattr(rewrite, "PYC_TAIL", "")
    rewrite.proctor_compared = told
    rewrite.AssertionRewriter.visit_Compare = visit_Compare


def _ours():
    return ast.Attribute(ast.Name("@pytest_ar", ast.Load()), "proctor_compared", ast.Load())


def _loaded(node):
    if not isinstance(node, (ast.Name, ast.Constant)):
        raise AttributeError("an expression that may not be worked out twice")
    return node
