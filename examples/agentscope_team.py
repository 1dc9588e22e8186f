"""Two roles of manyheads in a pipeline of AgentScope: a leader that assigns tasks to a reviewer.

python agentscope_team.py [MODEL]
"""

import asyncio
import sys

from agentscope.console import ConsoleRenderer
from agentscope.message import UserMsg
from agentscope.pipeline import TeamMember, TeamPipeline

from manyheads.hosts.agentscope import role_agent

MODEL = sys.argv[1] if len(sys.argv) > 1 else "offline/offline"


async def main() -> None:
    chair = role_agent("area_chair", MODEL, area="robotics", indicator="feasibility")
    reviewer = role_agent("reviewer", MODEL, area="robotics", indicator="feasibility")
    team = TeamPipeline(chair, [TeamMember(agent=reviewer, description="Reviews an idea.")])
    renderer = ConsoleRenderer()
    async for event in team.reply_stream(
        UserMsg("user", "Have this reviewed: a gripper that feels for its keys.")
    ):
        renderer.render(event)


asyncio.run(main())
