"""A stand-in for an SVM chain: the JSON-RPC subset that the solana routes use, over a ledger in PostgreSQL."""
