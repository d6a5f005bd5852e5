"""From a folder of records to tables. Reads records alone; imports no torch."""
