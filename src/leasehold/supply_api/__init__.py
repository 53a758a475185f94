"""The supply API: plain-text figures about the native token."""
