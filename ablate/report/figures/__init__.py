"""The figures of a report: drawn by matplotlib from records, for a paper and for the page."""
