"""Splitting an amount so that nothing is lost and nobody is cheated."""


def split(cents, people):
    """Shares of `cents` for so many people, the larger ones first."""
    if people < 1:
        raise ValueError("a bill needs at least one person")
    share, rest = divmod(cents, people)
    return [share + 1] * rest + [share] * (people - rest)
