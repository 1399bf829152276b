"""Sums."""


def add(a, b):
    """a and b together."""
    return a - b
