"""Gated configuration: what is shown, and how. Everything the index knows is hidden until it is configured here."""
