"""Prints how often items are compared while 400 of them are made unique. Kept on the judge's side."""

from unique.once import once


class Item:
    """A value that counts every comparison."""

    compared = 0

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        Item.compared += 1
        return self.value == other.value


once([Item(number % 200) for number in range(400)])
print(Item.compared)
