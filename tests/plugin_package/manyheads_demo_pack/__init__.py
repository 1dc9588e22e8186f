"""A pack is data: its folders are found without this module ever being imported."""
