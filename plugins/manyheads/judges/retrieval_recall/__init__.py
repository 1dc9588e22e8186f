"""The recall of retrieval, on papers whose references are known."""
