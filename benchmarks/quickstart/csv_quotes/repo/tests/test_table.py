import csv
import io
import unittest

from export.table import table


def read_back(text):
    return list(csv.reader(io.StringIO(text, newline="")))


class WhatWasWrittenIsRead(unittest.TestCase):
    def same(self, *cells):
        self.assertEqual(read_back(table(["cell"] * len(cells), [cells]))[1], list(cells))

    def test_plain_words(self):
        self.same("rent", "1200")

    def test_a_comma_stays_in_its_cell(self):
        self.same("Miller, Ann", "80")

    def test_a_line_break_stays_in_its_cell(self):
        self.same("first\nsecond", "80")

    def test_quotes_survive(self):
        self.same('a 24" screen, used', "310")

    def test_a_lone_quote_survives(self):
        self.same('24" screen', "300")

    def test_plain_cells_are_not_dressed_up(self):
        self.assertEqual(table(["a", "b"], [[1, None]]), "a,b\r\n1,\r\n")


if __name__ == "__main__":
    unittest.main()
