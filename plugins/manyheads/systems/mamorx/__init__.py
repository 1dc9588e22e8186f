"""MAMORX: a committee reviews a paper."""
