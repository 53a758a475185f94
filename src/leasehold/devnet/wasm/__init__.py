"""Contracts on the devnet: the interface they stand behind, and the runtime that calls them."""
