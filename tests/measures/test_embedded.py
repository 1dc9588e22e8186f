"""What measuring asks of embedding models and banks: what was not read, and searches that may use an index."""

import numpy as np

from manyheads.base.papers import Paper
from manyheads.corpus.ecosystem import KnowledgeBank
from manyheads.corpus.embedding import load_embedder
from manyheads.corpus.phrases import LexicalEmbedder
from manyheads.corpus.vectors import unread
from support.embedding import needs_minilm
from support.qdrant import QdrantServer


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


def test_a_server_is_told_when_a_search_need_not_be_exact() -> None:
    with QdrantServer() as server, KnowledgeBank.create(server.url, LexicalEmbedder()) as bank:
        bank.add([Paper(id="p1", title="A paper", abstract="We study robots.", year=2014)])
        vectors = LexicalEmbedder().embed(["robots", "papers"])
        found = bank.store.query(vectors, 1, exact=False)
        assert found == bank.store.query(vectors, 1)
        assert server.exact == [False, False, True, True]
