"""A disposable place to run commands. Knows nothing of benchmarks."""
