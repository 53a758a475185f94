"""In-process consensus: genesis, mempool, sealing of blocks and the store they are kept in."""
