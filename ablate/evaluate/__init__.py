"""The verb `evaluate`, and what is measured on a trained model: lengths, probes, shuffling."""
