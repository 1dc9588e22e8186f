"""The report: a run folder as one HTML file that a person reads, prints and passes on."""
