"""A standing attack on the product: what a hostile or broken world does to it, counted. `make attack` prints the table."""
