"""A BERT encoder written as an ONNX graph, node by node, from its safetensors weights: no torch needed."""

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import ModelProto, NodeProto, TensorProto

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
