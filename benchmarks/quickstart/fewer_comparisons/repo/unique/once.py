"""Each item once, in the order of its first appearance."""


def once(items):
    """A list without repetitions."""
    seen = []
    for item in items:
        if item not in seen:
            seen.append(item)
    return seen
