"""Raises while it is imported, as a plugin does whose own dependency is missing."""

raise RuntimeError("this plugin needs a library that is not installed")
