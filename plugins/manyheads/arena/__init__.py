"""The arena: texts of several makers, raters, and their votes."""
