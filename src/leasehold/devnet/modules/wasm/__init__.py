"""Contracts of the chain."""

from leasehold.devnet.modules.wasm.module import Wasm

__all__ = ["Wasm"]
