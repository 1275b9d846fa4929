"""A plugin for Butler Memory that uses every hook, each in a few lines."""
