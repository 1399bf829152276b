import unittest

from unique.once import once


class Once(unittest.TestCase):
    def test_repetitions_go(self):
        self.assertEqual(once([1, 1, 1]), [1])

    def test_the_order_of_first_appearance_stays(self):
        self.assertEqual(once(["pear", "apple", "pear", "fig", "apple"]), ["pear", "apple", "fig"])

    def test_nothing_in_nothing_out(self):
        self.assertEqual(once([]), [])

    def test_items_may_be_lists(self):
        self.assertEqual(once([[1], [2], [1]]), [[1], [2]])

    def test_hashable_and_unhashable_items_mix(self):
        self.assertEqual(once(["a", [1], "b", [1], "a"]), ["a", [1], "b"])

    def test_any_iterable_will_do(self):
        self.assertEqual(once(n % 3 for n in range(9)), [0, 1, 2])


if __name__ == "__main__":
    unittest.main()
