"""VirSci: digital-twin scientists find a topic, ideas, a vote, an abstract."""
