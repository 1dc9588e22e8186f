"""The areas of the attack, by name."""

from attack import commands, replies, storm
from attack.figures import Attack

AREAS: dict[str, Attack] = {
    "replies": replies.misbehaviours,
    "thirds": replies.every_third,
    "budgets": replies.budgets,
    "kills": storm.kills,
    "commands": commands.hostile_values,
}
