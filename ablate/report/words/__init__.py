"""Verdicts and facts as sentences: the only place where English about results is made."""
