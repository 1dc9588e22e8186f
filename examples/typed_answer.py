"""A typed answer of one role, on any framework.

python typed_answer.py [MODEL]
"""

import sys

from manyheads import ask_sync

MODEL = sys.argv[1] if len(sys.argv) > 1 else "offline/offline"

review = ask_sync(
    "reviewer",
    "review",
    idea="A gripper that feels for its keys.",
    area="robotics",
    indicator="feasibility",
    model=MODEL,
    budget={"calls": 3},
)
print("Strengths")
for strength in review.strengths:
    print(" +", strength)
print("Weaknesses")
for weakness in review.weaknesses:
    print(" -", weakness)
