"""The states of a task as git trees on the host, and changes between them as patches."""
