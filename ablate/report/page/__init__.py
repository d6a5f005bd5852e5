"""The report as one page that opens from disk: figures, tables, diagnosis and every run."""
