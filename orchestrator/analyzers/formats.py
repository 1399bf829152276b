"""Report formats by name: what a saved report, or a tool a benchmark defines, may be written in."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.analyzers import (
    audit,
    bandit,
    checkstyle,
    eslint,
    mypy,
    php_cs_fixer,
    php_lint,
    phpcs,
    phpmd,
    phpstan,
    pylint,
    radon,
    ruff,
    sarif,
)
from orchestrator.analyzers.reports import Reader

FORMATS: Mapping[str, Reader] = {
    "audit": audit.read,
    "bandit": bandit.read,
    "checkstyle": checkstyle.read,
    "eslint": eslint.read,
    "mypy": mypy.read,
    "php-cs-fixer": php_cs_fixer.read,
    "php-lint": php_lint.read,
    "phpcs": phpcs.read,
    "phpmd": phpmd.read,
    "phpstan": phpstan.read,
    "pylint": pylint.read,
    "radon": radon.read,
    "ruff": ruff.read,
    "sarif": sarif.read,
}
