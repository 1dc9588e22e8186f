"""The team discussion that systems share: asking, teams, summaries, invitations."""
