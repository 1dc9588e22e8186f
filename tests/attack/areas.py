"""The areas of the attack, by name."""

from attack import caches, commands, files, replies, services, storm, suites
from attack.figures import Attack

AREAS: dict[str, Attack] = {
    "replies": replies.misbehaviours,
    "wires": replies.wires,
    "thirds": replies.every_third,
    "budgets": replies.budgets,
    "folders": files.run_folders,
    "corpora": files.corpora,
    "bombs": files.oversized,
    "caches": caches.caches,
    "texts": files.texts,
    "suites": suites.suites,
    "kills": storm.kills,
    "services": services.services,
    "commands": commands.hostile_values,
}
