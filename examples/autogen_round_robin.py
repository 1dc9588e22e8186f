"""Two roles of manyheads in a team of AutoGen.

python autogen_round_robin.py [MODEL]
"""

import asyncio
import sys

from autogen_agentchat.conditions import MaxMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_agentchat.ui import Console

from manyheads.hosts.autogen import role_agent

MODEL = sys.argv[1] if len(sys.argv) > 1 else "offline/offline"


async def main() -> None:
    proposer = role_agent("proposer", MODEL, area="robotics", indicator="feasibility")
    reviewer = role_agent("reviewer", MODEL, area="robotics", indicator="feasibility")
    team = RoundRobinGroupChat([proposer, reviewer], termination_condition=MaxMessageTermination(4))
    await Console(team.run_stream(task="How could a gripper find keys in the dark?"))


asyncio.run(main())
