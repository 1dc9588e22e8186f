"""MAMORX: a committee reviews a real paper, with its figures, what it cites and what others have published."""
