"""What the HTTP services share: snapshots, route registry, error envelopes, limits, OpenAPI, stream hub."""
