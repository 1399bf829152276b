import unittest

from app.money import split


class Shares(unittest.TestCase):
    def test_an_even_bill(self):
        self.assertEqual(split(90, 3), [30, 30, 30])

    def test_no_cent_is_lost(self):
        self.assertEqual(split(100, 3), [34, 33, 33])
