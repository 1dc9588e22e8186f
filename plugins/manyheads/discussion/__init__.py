"""The team discussion that systems share: asking, the team and its turns, summaries, invitations."""
