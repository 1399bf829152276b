"""Runs two tests and writes JUnit XML to $PROCTOR_REPORT."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from add import add

results = {"nothing": add(0, 0) == 0, "two_and_two": add(2, 2) == 4}
cases = "".join(
    f'<testcase classname="sums" name="{name}">{"" if held else "<failure/>"}</testcase>'
    for name, held in results.items()
)
pathlib.Path(os.environ["PROCTOR_REPORT"]).write_text(f"<testsuite>{cases}</testsuite>")
sys.exit(not all(results.values()))
