"""Speed and memory, each figure beside its baseline: `python tests/bench/bench.py [NAME…]`."""
