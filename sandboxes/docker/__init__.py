"""The Docker provider: rooms on a Docker-compatible engine. The only package that imports its SDK."""

from sandboxes.docker.provider import DockerProvider

__all__ = ["DockerProvider"]
