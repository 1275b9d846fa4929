"""Keyed memory per agent in one SQLite file: save, recall, search; standard library only."""
