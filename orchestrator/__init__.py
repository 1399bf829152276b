"""proctor: grades coding agents on repository tasks. `trial.py` is the story; ARCHITECTURE.md the map.

For Python: `from orchestrator import Rubric, Rule, check, load_rubric` (docs/python.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.api import Check, Result, Rubric, Rule, RuleError, check, load_rubric

__all__ = ["Check", "Result", "Rubric", "Rule", "RuleError", "check", "load_rubric"]


def __getattr__(name: str) -> Any:
    """The names above, imported when they are first asked for: `import orchestrator` costs nothing."""
    if name in __all__:
        from orchestrator import api

        return getattr(api, name)
    raise AttributeError(f"module 'orchestrator' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
