"""Swap router: routes over the pools of the connected DEXes, the messages that execute them, their tracked state."""
