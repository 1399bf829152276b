"""Rows as comma-separated text (RFC 4180)."""


def field(value):
    """One cell."""
    return "" if value is None else str(value)


def line(row):
    """One row, ended as the RFC asks."""
    return ",".join(field(value) for value in row) + "\r\n"


def table(header, rows):
    """Header and rows as one text."""
    return line(header) + "".join(line(row) for row in rows)
