"""The one way in which a tool says no."""


class ToolRefusedError(ValueError):
    """A tool call that cannot be met; its message tells the model why."""
