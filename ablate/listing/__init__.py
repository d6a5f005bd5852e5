"""The verb `list`: what there is to ablate."""
