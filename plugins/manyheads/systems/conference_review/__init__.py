"""Reviews of a text on the form of a conference."""
