"""proctor rubric disable: one line of a rubric's file."""

from __future__ import annotations

from orchestrator.cli.rubric import places

NAME = "disable"
SUMMARY = "Retire a rubric without deleting it."


def command(rubric: places.RubricName, folders: places.Folders = None) -> int:
    """Set `enabled: false` in a rubric's file; refs to it resolve to nothing, and questions fall back to
    their own criteria.

    Only that line changes; comments, order and every other byte stay.

    \b
    Example:
      proctor rubric disable rubrics/plain_answer.yaml
    """
    from orchestrator.cli.rubric.switching import switch

    print(switch(rubric, folders, enabled=False))
    return 0
