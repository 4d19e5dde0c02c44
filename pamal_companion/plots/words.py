"""Say in words how many, which and how much: parts of the sentences of captions."""

from collections.abc import Iterable

WORDS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
WORDS += ["eleven", "twelve"]


def listed(names: Iterable[object]) -> str:
    """Return names or numbers in a row: a, b and c."""
    *most, last = map(str, names)
    return f"{', '.join(most)} and {last}" if most else last


def in_words(number: float) -> str:
    """Return a whole number as a word up to twelve, and in digits beyond."""
    return WORDS[int(number)] if number < len(WORDS) else f"{int(number):,}"


def out_of(count: int, number: int) -> str:
    """Return how many of a number: "all 5", "none of the 5", "3 of the 5" or "1 of 1"."""
    if number == 1:
        return f"{count} of 1"
    if count == number:
        return f"all {number}"
    return f"none of the {number}" if count == 0 else f"{count} of the {number}"


def ranged(numbers: Iterable[float | int], form: str = "g") -> str:
    """Return the least and the largest number, "2 to 5", or "2" if both are written alike."""
    low, *_, high = sorted([*numbers] * 2)
    return " to ".join(dict.fromkeys((f"{low:{form}}", f"{high:{form}}")))
