"""The application WebSocket: live prices, leases, lender positions, balances and transfers."""
