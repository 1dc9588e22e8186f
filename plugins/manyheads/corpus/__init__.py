"""The knowledge bank."""

import os

# onnxruntime writes a device id into the user's cache and queues events for its maker. It reads this variable once, on
# its first import. fastembed and qdrant_client import it, so this must run before them.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
