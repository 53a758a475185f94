"""The chain's modules, one noun each."""
