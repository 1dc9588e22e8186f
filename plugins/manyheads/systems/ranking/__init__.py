"""The relative ranking of ideas."""
