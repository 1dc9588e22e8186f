"""A whole team and a role in a workflow of Microsoft Agent Framework: the team finds an idea, a reviewer reads it.

python agent_framework_workflow.py [MODEL]
"""

import asyncio
import sys

from agent_framework import WorkflowBuilder

from manyheads.hosts.agent_framework import VirSciAgent, role_agent

MODEL = sys.argv[1] if len(sys.argv) > 1 else "offline/offline"


async def main() -> None:
    team = VirSciAgent("virsci", "turns=1", team={"size": 2}, model=MODEL, emit="final")
    critic = role_agent("reviewer", MODEL, area="robotics", indicator="feasibility")
    workflow = WorkflowBuilder(start_executor=team).add_edge(team, critic).build()
    result = await workflow.run("Robust retrieval for robots")
    for output in result.get_outputs():
        print(output)
    print("Report:", team.folder and team.folder / "report.html")


asyncio.run(main())
