"""A debate: two advocates argue for and against a claim, and an arbiter decides what is left of it."""
