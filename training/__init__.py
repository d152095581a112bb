"""Agents, and the episodes they play through the client."""

from .agents import Agent, EpisodeRecord, GoldAgent, Move, NoEpisode, NoopAgent, Step, play_episode

__all__ = ["Agent", "EpisodeRecord", "GoldAgent", "Move", "NoEpisode", "NoopAgent", "Step", "play_episode"]
