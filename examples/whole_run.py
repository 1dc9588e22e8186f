"""A whole run, and what it found: ideas, votes, references, cost.

python whole_run.py [MODEL]
"""

import asyncio
import sys

import manyheads

PROVIDER, _, NAME = (sys.argv[1] if len(sys.argv) > 1 else "offline/offline").partition("/")


async def main() -> None:
    run = await manyheads.run(
        "virsci",
        "topic=Robust retrieval for robots",
        "team.size=3",
        "turns=2",
        f"models.default.provider={PROVIDER}",
        f"models.default.name={NAME}",
    )
    print(run.result.abstract.title)
    for idea in sorted(run.result.ideas, key=lambda idea: idea.confidence, reverse=True)[:3]:
        print(f"  {idea.confidence:4.0f}  {idea.title}")
    print("References of the winning idea:")
    for paper in run.cited(run.result.idea.references):
        print(f"  {paper.year}  {paper.title}")
    print(run.usage.calls, "calls,", run.usage.tokens, "tokens, cost:", run.cost or "none")


asyncio.run(main())
