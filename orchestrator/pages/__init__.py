"""A run as pages for a browser: one self-contained file, or what the viewer serves."""
