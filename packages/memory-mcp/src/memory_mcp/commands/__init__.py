"""The commands of `memory`, one module each."""
