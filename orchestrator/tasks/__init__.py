"""From what a task names to what its rooms hold: sources, dependencies, setup modes, states."""
