"""Talking to nodes: JSON-RPC, blocks, contract queries, and several nodes behind one face."""
