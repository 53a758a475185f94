"""SVM chains: addresses, transactions, and the instructions this project sends and accepts."""
