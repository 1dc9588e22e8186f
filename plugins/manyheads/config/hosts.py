"""The agent frameworks that a run is hosted on."""

FRAMEWORKS = {"agentscope": "agentscope", "autogen": "autogen_agentchat"}
"""The import package that each host needs."""
