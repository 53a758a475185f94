"""The chain's state: an ordered map of bytes with overlays, an undo log and history."""
