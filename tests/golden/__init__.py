"""What the package does today, seen from outside: commands, their exit codes, the files that they leave.

Nothing here imports a part of `manyheads`; every test runs `python -m manyheads`. So files of the package may move,
and these tests stay. See `make.py` for how the goldens are written anew on purpose.
"""
