"""Settings: their schema, catalogue, composition, identity and the one printer of a value."""
