"""The proof of learning: see __main__.py."""
