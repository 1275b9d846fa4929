"""Entities for Butler Memory: registry, resolution and merge."""
