"""What a team is compared with at equal cost (VirSci 2025, §4.1, App. C.3): none of these has an ecosystem."""

from manyheads.systems.baselines.discussion import NEEDS as DISCUSSION_NEEDS
from manyheads.systems.baselines.discussion import discussion
from manyheads.systems.baselines.reflection import NEEDS as REFLECTION_NEEDS
from manyheads.systems.baselines.reflection import self_reflection
from manyheads.systems.baselines.single import NEEDS as SINGLE_NEEDS
from manyheads.systems.baselines.single import single

__all__ = ["DISCUSSION_NEEDS", "REFLECTION_NEEDS", "SINGLE_NEEDS", "discussion", "self_reflection", "single"]
