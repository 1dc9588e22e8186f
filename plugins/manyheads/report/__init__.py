"""The report: a run folder as one HTML file to read, print and share."""
