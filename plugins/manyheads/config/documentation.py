"""What stands below a field in the source is its documentation.

It is read from there, and only where it is shown: pydantic's own reading of it would make every start slower.
"""

import ast
import inspect
from itertools import pairwise
from textwrap import dedent

from pydantic import BaseModel


def documented(model: type[BaseModel]) -> dict[str, str]:
    """The texts below a model's fields, those that it inherits too."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if issubclass(each, BaseModel) and each.__module__ not in (
            "pydantic.main",
            "manyheads.engine.system",
        ):
            written = each.__pydantic_generic_metadata__["origin"] or each
            [tree] = ast.parse(dedent(inspect.getsource(written))).body
            found |= _below_fields(tree.body) if isinstance(tree, ast.ClassDef) else {}
    return found


def _below_fields(body: list[ast.stmt]) -> dict[str, str]:
    found: dict[str, str] = {}
    for above, below in pairwise(body):
        match above, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text)
            case _:
                pass
    return found
