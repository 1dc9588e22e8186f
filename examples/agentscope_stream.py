"""A whole run of VirSci in AgentScope's console, as it happens.

python agentscope_stream.py [MODEL]
"""

import asyncio
import sys

from agentscope.console import ConsoleRenderer
from agentscope.message import Msg, UserMsg

from manyheads.hosts.agentscope import VirSciPipeline

MODEL = sys.argv[1] if len(sys.argv) > 1 else "offline/offline"


async def main() -> None:
    pipeline = VirSciPipeline("virsci", "turns=1", team={"size": 2}, model=MODEL)
    renderer = ConsoleRenderer()
    async for event in pipeline.reply_stream(UserMsg("user", "Robust retrieval for robots")):
        if not isinstance(event, Msg):
            renderer.render(event)


asyncio.run(main())
