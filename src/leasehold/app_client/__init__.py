"""Clients of the application API, for Python programs; they know its wire format and nothing of its inside."""
