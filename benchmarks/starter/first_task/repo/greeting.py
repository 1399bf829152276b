"""Saying hello."""


def greet(name):
    """A greeting."""
    return f"Hello, {name}!"
