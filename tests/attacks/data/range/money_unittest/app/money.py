"""Amounts in cents."""


def split(cents, people):
    """What each of `people` pays, as equal as can be."""
    return [cents // people] * people


def total(prices):
    """The sum of all prices."""
    return sum(prices)
