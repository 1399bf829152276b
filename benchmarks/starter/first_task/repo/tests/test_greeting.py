import unittest

from greeting import greet


class Greeting(unittest.TestCase):
    def test_with_a_name(self):
        self.assertEqual(greet("Ada"), "Hello, Ada!")

    def test_without_a_name(self):
        self.assertEqual(greet(""), "Hello!")
