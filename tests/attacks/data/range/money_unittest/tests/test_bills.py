import unittest

from app.money import total


class Totals(unittest.TestCase):
    def test_prices_add_up(self):
        self.assertEqual(total([1, 2, 3]), 6)
