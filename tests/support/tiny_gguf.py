"""A model of half a megabyte in llama.cpp's format, with random weights: real in all but what it says.

Run by a Python that has `gguf` and `numpy`: `python tiny_gguf.py FILE`.
"""

import sys
from typing import Any

import gguf  # pyright: ignore[reportMissingImports]
import numpy as np

WIDTH, LAYERS, HEADS, INNER, CONTEXT = 64, 2, 4, 128, 32_768


def vocabulary() -> tuple[list[bytes], list[Any]]:
    """Three special tokens, all bytes, and the printable characters, so that a grammar can move."""
    kind: Any = gguf.TokenType
    special = [(b"<unk>", kind.UNKNOWN), (b"<s>", kind.CONTROL), (b"</s>", kind.CONTROL)]
    single = [(f"<0x{byte:02X}>".encode(), kind.BYTE) for byte in range(256)]
    printable = [("\u2581" if byte == 32 else chr(byte), kind.NORMAL) for byte in range(32, 127)]
    tokens = special + single + [(text.encode(), kind) for text, kind in printable]
    return [text for text, _ in tokens], [kind for _, kind in tokens]


def main(path: str) -> None:
    tokens, kinds = vocabulary()
    rng, out = np.random.default_rng(0), gguf.GGUFWriter(path, "llama")
    out.add_context_length(CONTEXT)
    out.add_embedding_length(WIDTH)
    out.add_block_count(LAYERS)
    out.add_feed_forward_length(INNER)
    out.add_head_count(HEADS)
    out.add_head_count_kv(HEADS)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_dimension_count(WIDTH // HEADS)
    out.add_vocab_size(len(tokens))
    out.add_tokenizer_model("llama")
    out.add_token_list(tokens)
    out.add_token_scores([0.0] * len(tokens))
    out.add_token_types(kinds)
    out.add_bos_token_id(1)
    out.add_eos_token_id(2)
    out.add_unk_token_id(0)

    def weights(*shape: int) -> Any:
        return (rng.standard_normal(shape) * 0.3).astype(np.float32)

    square, wide, narrow = (WIDTH, WIDTH), (INNER, WIDTH), (WIDTH, INNER)
    shapes = {"attn_q": square, "attn_k": square, "attn_v": square, "attn_output": square}
    shapes |= {"ffn_gate": wide, "ffn_up": wide, "ffn_down": narrow}
    out.add_tensor("token_embd.weight", weights(len(tokens), WIDTH))
    out.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    out.add_tensor("output.weight", weights(len(tokens), WIDTH))
    for layer in range(LAYERS):
        for name, shape in shapes.items():
            out.add_tensor(f"blk.{layer}.{name}.weight", weights(*shape))
        for name in ("attn_norm", "ffn_norm"):
            out.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    main(sys.argv[1])
