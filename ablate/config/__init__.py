"""Settings: schema, catalogue, composition, identity, mistakes. Imports shell and errors."""
