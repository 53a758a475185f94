"""Push notifications: who subscribed, how messages are sealed and signed, and their delivery from the outbox."""
