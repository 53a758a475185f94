"""Payments manager: zero-interest campaigns and payments."""
