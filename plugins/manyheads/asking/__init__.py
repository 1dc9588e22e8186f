"""How an agent is asked: roles, prompts, the form of a reply, JSON in a text, reply types."""
