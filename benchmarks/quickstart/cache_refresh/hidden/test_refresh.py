"""Put in place by the judge only; no candidate sees it."""

import unittest

from cache.lru import Lru


class ReadingIsUsing(unittest.TestCase):
    def survivors(self, first, second):
        cache = Lru(2)
        cache.put("first", first)
        cache.put("second", second)
        cache.get("first")
        cache.put("third", "x")
        return [key for key in ("first", "second", "third") if key in cache]

    def test_what_was_read_stays(self):
        self.assertEqual(self.survivors("text", "text"), ["first", "third"])

    def test_what_was_read_stays_even_when_it_is_zero(self):
        self.assertEqual(self.survivors(0, 1), ["first", "third"])

    def test_what_was_read_stays_even_when_it_is_none(self):
        self.assertEqual(self.survivors(None, 1), ["first", "third"])

    def test_asking_for_the_unknown_changes_nothing(self):
        cache = Lru(1)
        cache.put("a", 1)
        self.assertEqual(cache.get("b", 7), 7)
        self.assertIn("a", cache)
        self.assertNotIn("b", cache)


if __name__ == "__main__":
    unittest.main()
