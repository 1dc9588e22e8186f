"""A whole team as a tool of AutoGen: it finds an idea, and only its result comes back.

python autogen_team_as_tool.py [MODEL]
"""

import asyncio
import sys

from autogen_agentchat.tools import TeamTool
from autogen_core import CancellationToken

from manyheads.hosts.autogen import VirSciTeam

MODEL = sys.argv[1] if len(sys.argv) > 1 else "offline/offline"


async def main() -> None:
    team = VirSciTeam("virsci", "turns=1", team={"size": 2}, model=MODEL, emit="final")
    tool = TeamTool(team, "research", "Finds a research idea on a topic.", return_value_as_last_message=True)
    # AssistantAgent("editor", client, tools=[tool]) calls it when it needs to; here we call it ourselves.
    result = await tool.run_json({"task": "Robust retrieval for robots"}, CancellationToken())
    print(tool.return_value_as_string(result))


asyncio.run(main())
