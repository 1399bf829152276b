from app.money import split


def test_an_even_bill():
    assert split(90, 3) == [30, 30, 30]


def test_no_cent_is_lost():
    assert split(100, 3) == [34, 33, 33]
