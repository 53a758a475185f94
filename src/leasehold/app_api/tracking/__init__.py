"""Transfers between the chain and an SVM chain, followed until they end; what is known survives a restart."""
