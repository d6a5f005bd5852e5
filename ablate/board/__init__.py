"""The verb `board`: TensorBoard on the runs of a study."""
