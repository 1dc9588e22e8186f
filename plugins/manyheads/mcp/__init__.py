"""`manyheads mcp`: runs, literature and roles for clients of the Model Context Protocol; skills for agents that read them."""
