"""What texts and teams are measured by (VirSci 2024 and 2025, §4.1)."""
