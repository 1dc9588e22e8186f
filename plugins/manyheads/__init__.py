"""manyheads: research teams and review committees as plugins for AgentScope and AutoGen."""

__version__ = "0.1.0"
