"""What a world's generator.py is written with: templates that draw tasks over the seeded database."""

from .authoring import Draft, World, call, phrase, pick, template

__all__ = ["Draft", "World", "call", "phrase", "pick", "template"]
