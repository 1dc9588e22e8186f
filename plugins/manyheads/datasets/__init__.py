"""Readers of datasets other than JSON Lines: each yields its format as `bank.corpus.RawPaper`s."""
