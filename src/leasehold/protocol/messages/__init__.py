"""Wire types of the contracts: one module each with its instantiate, execute, sudo and query messages and its answers.

Decode incoming messages with `leasehold.protocol.serde.Codec`, which is as strict as the contracts; answers of a chain
with msgspec's own decoder, whose types let unknown keys pass.
"""
