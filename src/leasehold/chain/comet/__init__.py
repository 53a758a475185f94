"""CometBFT 0.38 as data: blocks, votes, validator sets, their encodings and hashes, and the query language."""
