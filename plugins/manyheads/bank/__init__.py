"""The knowledge bank."""

import os

# onnxruntime writes a device id into the user's cache and queues events for its maker. It reads this once, when it is
# first imported; fastembed and qdrant_client import it, so it must be set before any of them.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
