"""The context window that is asked of a server which allocates it by the request, as Ollama does."""

from manyheads.config import ModelConfig

SMALLEST_WINDOW = 8192
ROOM = 2048
"""Tokens that are kept free for an answer whose length is not limited."""


def window(config: ModelConfig, tokens: int) -> int:
    """Ollama's context for a prompt: it cuts longer ones silently, and its default is a few thousand tokens.

    A power of two, so that the server seldom has to load the model anew, and never more than the model's own.
    """
    size, need = SMALLEST_WINDOW, tokens + (config.max_tokens or ROOM)
    while size < need:
        size *= 2
    return min(size, config.context)
