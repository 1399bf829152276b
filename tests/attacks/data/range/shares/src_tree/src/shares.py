"""Prints shares of a bill: python3 src/shares.py CENTS PEOPLE."""

import sys

cents, people = map(int, sys.argv[1:3])
print(*[cents // people] * people)
