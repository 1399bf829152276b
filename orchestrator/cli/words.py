"""The shared words, where commands look for them."""

from orchestrator.words import *  # noqa: F403
