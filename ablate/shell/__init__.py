"""The terminal: one parser, what it can show, a stderr that may go. Imports errors alone."""
