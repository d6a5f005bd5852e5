"""The verb `report`: from records to an answer. Imports no torch."""
