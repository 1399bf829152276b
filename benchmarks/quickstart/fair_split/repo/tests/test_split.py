import unittest

from bill.split import split


class Split(unittest.TestCase):
    def test_an_even_bill(self):
        self.assertEqual(split(900, 3), [300, 300, 300])

    def test_no_cent_is_lost(self):
        for people in range(1, 12):
            self.assertEqual(sum(split(1000, people)), 1000)

    def test_nobody_pays_two_cents_more_than_another(self):
        for people in range(1, 12):
            shares = split(1003, people)
            self.assertLessEqual(max(shares) - min(shares), 1, f"{people} people: {shares}")

    def test_nobody_to_pay(self):
        with self.assertRaises(ValueError):
            split(100, 0)


if __name__ == "__main__":
    unittest.main()
