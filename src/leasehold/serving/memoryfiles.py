"""Large bodies as anonymous files in memory, so that the kernel can send their pages without copying them."""

from __future__ import annotations

import os
import socket
from typing import ClassVar

# Below this a copy costs less than a second system call.
SMALLEST = 24 * 1024
# File descriptors are for connections; a table of very many large snapshots sends the rest the ordinary way.
MOST = 128


class MemoryFile:
    """A sealed copy of some bytes behind a file descriptor, closed with the last reference to it."""

    open_files: ClassVar[int] = 0

    def __init__(self, body: bytes) -> None:
        self.descriptor = os.memfd_create("snapshot", os.MFD_CLOEXEC)
        type(self).open_files += 1
        view = memoryview(body)
        while view:
            view = view[os.write(self.descriptor, view) :]

    @classmethod
    def of(cls, body: bytes) -> MemoryFile | None:
        """A file for a body that is worth one, where the system has such files."""
        if len(body) < SMALLEST or cls.open_files >= MOST or not hasattr(os, "memfd_create"):
            return None
        try:
            return cls(body)
        except OSError:
            # Out of descriptors or memory: the ordinary way needs neither.
            return None

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)
            type(self).open_files -= 1


def send(connection: socket.socket, head: bytes, size: int, file: MemoryFile) -> int:
    """Send as much as the socket takes without waiting; returns how many bytes of head and body went out."""
    sent = 0
    try:
        # "More" holds the head back until the body follows, so that it doesn't travel alone.
        sent = connection.send(head, socket.MSG_MORE)
        if sent == len(head):
            sent += os.sendfile(connection.fileno(), file.descriptor, 0, size)
    except BlockingIOError:
        return sent
    return sent
