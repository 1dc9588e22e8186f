"""What tests share: servers that speak the real protocols, small hosts, sample turns."""
