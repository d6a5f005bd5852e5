"""What the runs say, as numbers and verdicts: contrasts, effects, counts, ledger."""
