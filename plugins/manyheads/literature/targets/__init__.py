"""Real targets of the relative quality ranking (Review and Rebuttal, §4.1): a paper, and what was known before it."""
