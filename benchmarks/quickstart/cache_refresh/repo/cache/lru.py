"""A cache that forgets what was not used for longest."""

from collections import OrderedDict

_ABSENT = object()


class Lru:
    """Holds at most `size` entries."""

    def __init__(self, size):
        if size < 1:
            raise ValueError("size must be at least 1")
        self._size = size
        self._entries = OrderedDict()

    def __len__(self):
        return len(self._entries)

    def __contains__(self, key):
        return key in self._entries

    def get(self, key, default=None):
        """The value; reading it counts as a use."""
        value = self._entries.get(key, _ABSENT)
        if value is _ABSENT:
            return default
        self._entries.move_to_end(key)
        return value

    def put(self, key, value):
        """Store a value; what was not used for longest makes room."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        while len(self._entries) > self._size:
            self._entries.popitem(last=False)
