"""The state machine behind the ABCI boundary: transactions in, state, results and events out."""
