"""Norm placements: which norms stand where around a sublayer; one file a family."""

from ablate.model.placement.rule import Normalizer, Placement

__all__ = ["Normalizer", "Placement"]
