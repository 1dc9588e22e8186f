"""Literature outside the bank: services behind one interface, a cascade of them, and corpus readers."""
