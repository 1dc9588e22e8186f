"""What measuring asks of embedding models: what was not read."""

import numpy as np

from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.phrases import LexicalEmbedder
from manyheads.corpus.vectors import unread
from support.embedding import needs_minilm


@needs_minilm
def test_a_model_says_how_much_of_a_text_it_does_not_read() -> None:
    """256 tokens are read, two of them the marks of start and end; `word` is one token."""
    model = load_embedder()
    texts = ["", "word", "word " * 254, "word " * 255, "word " * 700]
    assert unread(model, texts) == [0, 0, 0, 1, 446]
    same = model.embed([texts[3], texts[2]])
    assert np.allclose(same[0], same[1])


def test_word_hashing_reads_all_there_is() -> None:
    assert unread(LexicalEmbedder(), ["word"]) == [None]
