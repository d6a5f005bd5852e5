"""Position schemes: one null base class, one file a family."""
