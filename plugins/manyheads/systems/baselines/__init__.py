"""Baselines without a team: a lone agent, its self-reflection, a discussion of fixed roles."""
