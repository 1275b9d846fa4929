"""Embeddings for Butler Memory: all-MiniLM-L6-v2 on onnxruntime, offline, without torch."""
