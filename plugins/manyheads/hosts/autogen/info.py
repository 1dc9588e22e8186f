"""What AutoGen asks of a model before it is used."""

from autogen_core.models import ModelFamily, ModelInfo

from manyheads.config import ModelConfig


def model_info(config: ModelConfig) -> ModelInfo:
    """A model's abilities, in AutoGen's words.

    Vision is always claimed: AutoGen's agents put the text `<image>` in an image's place otherwise, without a
    word. `ModelClient` refuses images for a model that cannot see them.
    """
    return ModelInfo(
        vision=True,
        function_calling=config.calls_tools,
        json_output=True,
        structured_output=True,
        family=ModelFamily.UNKNOWN,
        multiple_system_messages=True,
    )
