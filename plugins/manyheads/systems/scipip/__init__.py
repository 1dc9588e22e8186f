"""SciPIP: ideas from retrieved papers and from brainstorming."""
