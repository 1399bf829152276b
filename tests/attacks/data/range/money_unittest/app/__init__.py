"""Bills and how they are shared."""
