"""What is measured on a trained or a fresh model beside its training curve."""
