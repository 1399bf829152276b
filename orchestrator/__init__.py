"""proctor: grades coding agents on repository tasks. `trial.py` is the story; ARCHITECTURE.md the map."""
