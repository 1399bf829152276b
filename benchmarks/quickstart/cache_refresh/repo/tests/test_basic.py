import unittest

from cache.lru import Lru


class Basics(unittest.TestCase):
    def test_what_was_put_is_got(self):
        cache = Lru(2)
        cache.put("a", 1)
        self.assertEqual(cache.get("a"), 1)
        self.assertEqual(cache.get("b", "none"), "none")

    def test_the_oldest_makes_room(self):
        cache = Lru(2)
        for key in "abc":
            cache.put(key, key)
        self.assertNotIn("a", cache)
        self.assertEqual(len(cache), 2)


if __name__ == "__main__":
    unittest.main()
