"""From numbers to findings, as data: thresholds, labels, first loss, diagnosis rules."""
