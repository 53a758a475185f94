"""Beginning a chain and picking it up again: genesis, replay of what the application missed, and the stored head."""

from __future__ import annotations

from hashlib import sha256

from leasehold.chain.comet import merkle
from leasehold.chain.comet.blocks import NO_BLOCK
from leasehold.chain.comet.validators import ValidatorSet
from leasehold.core.errors import ConfigurationError, Unavailable
from leasehold.devnet.app.abci import Application, FinalizeBlock, Misbehavior
from leasehold.devnet.consensus.blockstore import BlockStore, StoredBlock
from leasehold.devnet.consensus.electorate import round_of
from leasehold.devnet.consensus.evidence import misbehavior as told_of
from leasehold.devnet.consensus.genesis import Genesis
from leasehold.devnet.consensus.head import Head, results_hash, vote_infos


def shake_hands(app: Application, store: BlockStore, genesis: Genesis) -> Head:
    """Bring application and store to one height, whichever is behind, and return where they stand."""
    digest = sha256(genesis.document).digest()
    known = store.meta("genesis")
    if known is not None and known != digest:
        raise ConfigurationError(
            "the store belongs to a chain with another genesis", hint="use another home, or remove its data"
        )
    with store.transaction():
        if known is None:
            _begin(app, store, genesis)
            store.put_meta("genesis", digest)
        else:
            _catch_up(app, store, genesis)
    return stored_head(store, genesis)


def _begin(app: Application, store: BlockStore, genesis: Genesis) -> None:
    result = app.init_chain(genesis.request())
    members = [(update.public_key, update.power) for update in result.validators or genesis.validators]
    if not members:
        raise ConfigurationError("the genesis has no validator", hint="add one to the genesis document")
    validators = ValidatorSet.create(members)
    store.put_validators(genesis.initial_height, validators)
    store.put_validators(genesis.initial_height + 1, validators.rotated())
    store.put_meta("app hash", result.app_hash)


def _catch_up(app: Application, store: BlockStore, genesis: Genesis) -> None:
    reached = app.info().last_height
    if reached > store.height:
        raise Unavailable(
            f"the application is at height {reached}, the block store at {store.height}",
            hint="restore both from the same backup",
        )
    if reached == 0:
        # Genesis becomes the application's state with the first block: without one it has to be told again.
        app.init_chain(genesis.request())
    for height in range(max(reached + 1, genesis.initial_height), store.height + 1):
        stored, expected = store.block(height), store.results(height)
        if stored is None or expected is None:
            raise Unavailable(
                f"block {height} is pruned, the application can't be brought up to date",
                hint="start from an empty home",
            )
        voters = store.validators(height - 1) if height > genesis.initial_height else None
        result = app.finalize_block(finalize_request(stored, voters))
        app.commit()
        if result.app_hash != expected.app_hash:
            raise Unavailable(
                f"replaying block {height} gave another app hash", hint="the application changed; start afresh"
            )


def finalize_request(
    stored: StoredBlock, voters: ValidatorSet | None, misbehavior: tuple[Misbehavior, ...] = ()
) -> FinalizeBlock:
    """A decided block as the application is told; `voters` decided the block before it."""
    block = stored.block
    header = block.header
    return FinalizeBlock(
        height=header.height,
        time_ns=header.time_ns,
        txs=block.txs,
        proposer=header.proposer_address,
        commit=vote_infos(block.last_commit, voters),
        misbehavior=misbehavior + told_of(block.evidence),
        hash=stored.id.hash,
        next_validators_hash=header.next_validators_hash,
    )


def stored_head(store: BlockStore, genesis: Genesis) -> Head:
    """Where a stored chain stands."""
    height = store.height
    if not height:
        return _genesis_head(store, genesis)
    stored, results = store.block(height), store.results(height)
    last, current, following = (store.validators(height + step) for step in range(3))
    if stored is None or results is None or last is None or current is None or following is None:
        raise Unavailable(f"block {height} is incomplete in the store", hint="start from an empty home")
    header = stored.block.header
    return Head(
        height,
        stored.id,
        header.time_ns,
        results.app_hash,
        results_hash(results),
        results.params,
        last,
        current,
        following,
        round_of(last, header.proposer_address),
    )


def _genesis_head(store: BlockStore, genesis: Genesis) -> Head:
    first = genesis.initial_height
    validators, following = store.validators(first), store.validators(first + 1)
    if validators is None or following is None:
        raise Unavailable("the genesis is incomplete in the store", hint="start from an empty home")
    # Until there is a block, the empty hash stands for the application's, as on a real chain.
    app_hash = store.meta("app hash") or merkle.EMPTY
    params = genesis.params
    return Head(first - 1, NO_BLOCK, genesis.time_ns, app_hash, merkle.EMPTY, params, None, validators, following)
