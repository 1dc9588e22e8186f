"""Readers of other datasets than JSON Lines: each turns its format into `bank.corpus.RawPaper`s, as a stream."""
