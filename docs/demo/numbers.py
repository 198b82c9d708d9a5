"""Questions about numbers."""


def is_even(number):
    """Whether a number is even."""
    return number % 2 == 0


def is_odd(number):
    """Whether a number is odd."""


def is_positive(number):
    """Whether a number is above zero."""
    return number > 0
