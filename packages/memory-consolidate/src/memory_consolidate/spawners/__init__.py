"""Ways to run a language model: command line programs and HTTP endpoints."""
