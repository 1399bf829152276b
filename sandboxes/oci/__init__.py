"""Rooms without a daemon: an OCI runtime (runc first) over an overlay on a sized scratch."""

from sandboxes.oci.provider import OciProvider

__all__ = ["OciProvider"]
