"""Others' corpora, read by formats that are data; target papers."""
