"""Literature beyond the bank: services behind one interface, a cascade over them, and corpus readers."""
