"""What a system needs of the role cards: only what its config makes it ask."""

from pathlib import Path

import yaml

from manyheads.engine.readiness import misfits
from manyheads.resources import Resources, shipped
from manyheads.roles import Roles
from manyheads.systems.loading import validate


def older_leader(folder: Path) -> Roles:
    """Roles in which the user's own leader card knows nothing of self-review."""
    card = yaml.safe_load((shipped() / "roles" / "leader.yaml").read_text(encoding="utf-8"))
    for task in ("self_review", "rework"):
        del card["tasks"][task]
    (folder / "roles").mkdir()
    (folder / "roles" / "leader.yaml").write_text(yaml.safe_dump(card), encoding="utf-8")
    return Roles(Resources.of([folder]))


def test_tasks_of_a_switched_off_stage_are_not_needed(tmp_path: Path) -> None:
    roles = older_leader(tmp_path)
    assert misfits(validate({}), roles) == []
    held = validate({"self_review": {"enabled": True}})
    assert misfits(held, roles) == [
        "role leader: virsci needs its task 'self_review', which the card does not have",
        "role leader: virsci needs its task 'rework', which the card does not have",
    ]
