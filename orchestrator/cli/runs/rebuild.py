"""proctor runs rebuild: the index, made again from the folders."""

from __future__ import annotations

from orchestrator.cli.runs import places

NAME = "rebuild"
SUMMARY = "Make the index again from the run folders."


def command(root: places.Root = places.DEFAULT) -> int:
    """Forget what the index says of this machine's runs and read their folders again.

    \b
    Examples:
      proctor runs rebuild
      proctor runs rebuild --runs nights
    """
    from orchestrator.words import many

    with places.opened(root, follow=False) as index:
        done = index.rebuild()
    places.tell(done)
    print(f"{many(done.read, 'run')} read")
    return 0
