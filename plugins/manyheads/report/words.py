"""Words that go with numbers."""


def count(things: int, word: str) -> str:
    """`1 vote`, `20 votes`."""
    return f"{things:,} {word}{'' if things == 1 else 's'}"
