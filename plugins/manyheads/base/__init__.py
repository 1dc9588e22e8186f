"""Paper, errors, files, HTTP: what every room stands on."""
