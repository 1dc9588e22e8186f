"""What a system needs of the role cards: only what its config makes it ask."""

from pathlib import Path

import pytest
import yaml

from manyheads.asking.roles import Roles
from manyheads.base.errors import ConfigError
from manyheads.base.resources import Resources, shipped
from manyheads.engine.readiness import blind, misfits, roles_of
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
        "role leader: virsci needs a task 'self_review', but the card has none",
        "role leader: virsci needs a task 'rework', but the card has none",
    ]


def test_prompts_are_tried_out_again_when_a_file_of_theirs_changes(tmp_path: Path) -> None:
    config = validate({"paths": [str(tmp_path)]})
    roles_of(config)
    prompt = tmp_path / "prompts" / "reviewer" / "system.md.j2"
    prompt.parent.mkdir(parents=True)
    prompt.write_text("You are an owl.", encoding="utf-8")
    owl = roles_of(config)
    assert "owl" in owl.system("reviewer", dict.fromkeys(owl.card("reviewer").variables, "x"))
    prompt.write_text("{{ of_nobody }}", encoding="utf-8")
    with pytest.raises(ConfigError, match="of_nobody"):
        roles_of(config)


def test_a_critic_of_figures_whose_model_cannot_see_is_named() -> None:
    data = {"system": "mamorx", "models": {"default": {"provider": "offline", "vision": False}}}
    unseeing, seeing = validate(data), validate({**data, "models": {"default": {"provider": "offline"}}})
    [line] = blind(unseeing, roles_of(unseeing))
    assert "models.default" in line
    assert "figure_critic" in line
    assert not [*blind(seeing, roles_of(seeing))]
