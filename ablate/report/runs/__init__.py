"""The runs of a report: found, read, filtered, grouped into rows of a table."""
