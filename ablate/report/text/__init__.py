"""A report for a terminal, markdown, LaTeX, CSV and JSON."""
