"""One run in its folder: execute, record, resume, stop, show."""
