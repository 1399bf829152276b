"""What became of earlier runs: an index over run folders, verdicts about differences, nights and trends.

facts     one run folder, read for counting: a header and a line per trial
index     `Index`: the runs of a folder, searchable; SQLite beside them, or PostgreSQL
compare   `compare(base, new)`: what was fixed and broken, and what can be claimed
trends    how tasks, rubrics, checks and analyser rules moved over runs
nightly/  one night: what to run, against what, and what its gate says

The run folder is the truth; everything here is derived from it and may be deleted. The modules are imported
one by one, so that nobody pays for what is not used.
"""
