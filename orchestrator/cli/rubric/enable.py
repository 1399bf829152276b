"""proctor rubric enable: one line of a rubric's file."""

from __future__ import annotations

from orchestrator.cli.rubric import places

NAME = "enable"
SUMMARY = "Bring a retired rubric back."


def command(rubric: places.RubricName, folders: places.Folders = None) -> int:
    """Set `enabled: true` in a rubric's file; refs to it resolve again.

    Only that line changes; comments, order and every other byte stay.

    \b
    Example:
      proctor rubric enable rubrics/plain_answer.yaml
    """
    from orchestrator.cli.rubric.switching import switch

    print(switch(rubric, folders, enabled=True))
    return 0
