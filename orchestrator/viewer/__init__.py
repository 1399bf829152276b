"""The viewer: the same pages as the report, live from the run folders, for a browser on this machine."""
