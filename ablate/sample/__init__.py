"""The verb `sample`: a trained run continues a text."""
