from app.money import total


def test_prices_add_up():
    assert total([1, 2, 3]) == 6
