"""Consolidation for Butler Memory: episodes into facts and rules by a language model."""
