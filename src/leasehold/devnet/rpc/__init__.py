"""The CometBFT RPC: URI GET, JSON-RPC POST and batches, and the WebSocket with its subscriptions."""
