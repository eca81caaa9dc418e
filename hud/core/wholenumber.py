"""Whole numbers in text that anybody may have typed."""

MOST_STORED = 2**63 - 1
"""The greatest number that a column of the database holds, ids among them."""


def whole_number(text: str, *, most: int = MOST_STORED) -> int | None:
    """Return the number from 0 to `most` that the text writes with the digits 0 to 9, None for any other text.

    Python alone would take other scripts' digits, signs, blanks and underscores too.
    """
    if not (text.isascii() and text.isdigit()) or len(text) > len(str(MOST_STORED)):
        return None
    number = int(text)
    return number if number <= most else None


def page_number(text: str, most: int) -> int:
    """Return which page of a list is asked for, from 1 to `most`: the first where the text is no number."""
    return min(max(1, whole_number(text) or 1), most)
