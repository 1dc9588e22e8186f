"""A question to one scientist about an idea."""
