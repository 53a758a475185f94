"""Sealing: what a block commits to, who signs, and how a chain continues."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from leasehold.chain.comet import blocks, merkle, votes
from leasehold.chain.comet.blocks import ABSENT, COMMIT, NIL, Block
from leasehold.chain.comet.query import parse
from leasehold.core.clock import ManualClock
from leasehold.core.errors import ConfigurationError, InvalidInput, Unavailable
from leasehold.devnet.app.abci import Misbehavior
from leasehold.devnet.consensus.genesis import Genesis
from leasehold.devnet.consensus.keys import ValidatorKeys, derived_key
from leasehold.devnet.consensus.node import Node
from leasehold.devnet.consensus.search import Searcher

SECOND = 1_000_000_000
NodeFactory = Callable[..., Node]


def verify_chain(node: Node) -> None:
    """Check every link as a light client and a full node would."""
    previous = None
    for height in range(node.base, node.height + 1):
        stored = node.store.block(height)
        assert stored is not None
        header = stored.block.header
        assert stored.id == stored.block.id()
        validators = node.store.validators(height)
        following = node.store.validators(height + 1)
        assert validators is not None
        assert following is not None
        assert header.validators_hash == validators.hash()
        assert header.next_validators_hash == following.hash()
        assert header.data_hash == blocks.data_hash(stored.block.txs)
        assert header.last_commit_hash == stored.block.last_commit.hash()
        if previous is not None:
            results = node.store.results(height - 1)
            assert results is not None
            voters = node.store.validators(height - 1)
            assert voters is not None
            commit = stored.block.last_commit
            assert header.last_block_id == commit.block_id == previous.id
            assert votes.is_decided(node.chain_id, voters, commit)
            assert votes.median_time(commit, voters) == header.time_ns
            assert header.app_hash == results.app_hash
            listed = [(r.code, r.data, r.gas_wanted, r.gas_used) for r in results.tx_results]
            assert header.last_results_hash == blocks.results_hash(listed)
        previous = stored


def test_the_first_block_has_genesis_time_and_no_votes(make_node: NodeFactory) -> None:
    """Block 1 carries genesis time, empty hashes and an empty last commit."""
    node = make_node()
    block = node.seal().block
    assert block.header.height == 1
    assert block.header.time_ns == node.genesis.time_ns
    assert block.last_commit == blocks.Commit()
    assert block.header.app_hash == block.header.last_commit_hash == block.header.data_hash == merkle.EMPTY


def test_a_chain_with_transactions_and_changing_validators_verifies(make_node: NodeFactory) -> None:
    """Every hash, link, signature and median time holds while the validator set changes."""
    node = make_node(validators=3)
    newcomer = derived_key(9, "newcomer")
    node.keys.add(newcomer)
    public = newcomer.public_key().public_bytes_raw().hex()
    node.seal()
    node.seal(txs=[b"a=1", b"fail"])
    node.seal(txs=[f"power:{public}:500".encode()])
    for number in range(4):
        node.seal(txs=[f"k{number}=v".encode()])
    node.seal(txs=[f"power:{public}:0".encode()])
    node.fast_forward(5, SECOND)
    verify_chain(node)


def test_updates_take_effect_two_blocks_later(make_node: NodeFactory) -> None:
    """A power changed in block H decides block H+2, not H+1."""
    node = make_node()
    key = node.keys.public_keys()[0].hex()
    node.seal()
    height = node.seal(txs=[f"power:{key}:7".encode()]).height
    node.fast_forward(2, SECOND)
    powers = [node.store.validators(height + step).validators[0].power for step in (1, 2)]  # type: ignore[union-attr]
    assert powers == [100, 7]


def test_absent_validators_are_told_to_the_application(make_node: NodeFactory) -> None:
    """A validator that is away neither signs nor proposes; its turn costs a round."""
    node = make_node(validators=4)
    away = node.head.validators.validators[3].address
    node.absent.add(away)
    node.seal()
    sealed = [node.seal(node.time_ns + SECOND) for _ in range(12)]
    verify_chain(node)
    flags = {info.address: info.flag for info in node.app.requests[-1].commit}  # type: ignore[attr-defined]
    assert flags[away] == ABSENT
    assert sorted(flags.values()) == [ABSENT, COMMIT, COMMIT, COMMIT]
    assert all(block.block.header.proposer_address != away for block in sealed)
    assert {block.round for block in sealed} == {0, 1}
    following = node.store.block(node.height)
    assert following is not None
    assert following.block.last_commit.round == sealed[-2].round


def test_votes_can_be_dictated(make_node: NodeFactory) -> None:
    """For a replay, a caller says who signed the block before, and when the next one happened."""
    node = make_node(validators=3, owned=0)
    addresses = [validator.address for validator in node.head.validators.validators]
    node.seal()
    node.seal(node.time_ns + 7, [b"a=1"], signers={addresses[0]: COMMIT, addresses[1]: NIL})
    commit = node.store.block(2).block.last_commit  # type: ignore[union-attr]
    assert [vote.flag for vote in commit.signatures] == [COMMIT, NIL, ABSENT]
    assert commit.signatures[0].signature == b"\0" * 64
    assert node.time_ns == node.genesis.time_ns + 7
    given = votes_of(node)
    sealed = node.seal(last_commit=given)
    assert sealed.block.last_commit == given
    assert sealed.block.header.time_ns == votes.median_time(given, node.head.last_validators)  # type: ignore[arg-type]


def votes_of(node: Node) -> blocks.Commit:
    head = node.head
    assert head.last_validators is not None
    signatures = tuple(
        blocks.CommitSig(COMMIT, validator.address, head.time_ns + at + 1, b"\1" * 64)
        for at, validator in enumerate(head.last_validators.validators)
    )
    return blocks.Commit(head.height, head.round, head.id, signatures)


def test_time_moves_forward(make_node: NodeFactory) -> None:
    """The clock sets the time, a still clock at least a millisecond; a time in the past is refused."""
    node = make_node()
    node.seal()
    before = node.time_ns
    node.seal()
    assert node.time_ns == before + 1_000_000
    clock = node.clock
    assert isinstance(clock, ManualClock)
    clock.advance(seconds=90)
    node.seal()
    assert node.time_ns == clock.now_ns()
    with pytest.raises(InvalidInput, match="is not after"):
        node.seal(before)
    assert node.height == 3


def test_the_seen_commit_of_the_head_verifies(make_node: NodeFactory) -> None:
    """Before the next block exists, the head's votes can be asked for and verify."""
    node = make_node(validators=2)
    assert node.seen_commit() is None
    node.seal()
    commit = node.seen_commit()
    assert commit is not None
    assert commit is node.seen_commit()
    assert votes.is_decided(node.chain_id, node.store.validators(1), commit)  # type: ignore[arg-type]


def test_misbehavior_reaches_the_application(make_node: NodeFactory) -> None:
    """Evidence given to a block is handed over with it."""
    node = make_node()
    evidence = Misbehavior(1, b"\1" * 20, 5, 1, 1, 5)
    node.seal(misbehavior=[evidence])
    assert node.app.requests[-1].misbehavior == (evidence,)  # type: ignore[attr-defined]


def test_a_restarted_node_goes_on(make_node: NodeFactory) -> None:
    """After a clean restart the next block links to the last one, rounds and priorities included."""
    node = make_node(validators=4)
    node.absent.add(node.head.validators.validators[0].address)
    node.seal()
    node.fast_forward(7, SECOND)
    head = node.head
    again = make_node(validators=4)
    assert (again.height, again.head.id, again.head.round) == (node.height, head.id, head.round)
    assert [v.priority for v in again.head.next_validators.validators] == [
        v.priority for v in head.next_validators.validators
    ]
    again.absent |= node.absent
    again.seal(again.time_ns + SECOND)
    verify_chain(again)


def test_blocks_the_application_missed_are_replayed(make_node: NodeFactory) -> None:
    """An application that lost its state is brought to the head by replay, with the same answers."""
    node = make_node(validators=2, persistent=False)
    node.seal()
    for number in range(5):
        node.seal(node.time_ns + SECOND, [f"k{number}={number}".encode()])
    again = make_node(validators=2, persistent=False)
    assert again.app.info() == node.app.info()
    assert again.app.requests == node.app.requests  # type: ignore[attr-defined]


def test_genesis_is_told_again_when_no_block_followed(make_node: NodeFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node stopped before its first block begins the chain anew, for the application too."""
    make_node()
    again = make_node(start=False)
    told: list[str] = []
    init_chain = again.app.init_chain
    monkeypatch.setattr(again.app, "init_chain", lambda request: told.append(request.chain_id) or init_chain(request))
    again.start()
    assert told == ["test-1"]
    again.seal()
    verify_chain(again)


def test_an_application_ahead_of_its_blocks_is_refused(make_node: NodeFactory) -> None:
    """State without the blocks that led to it can't be continued."""
    node = make_node()
    node.seal()
    again = make_node(start=False)
    again.app.height = 5  # type: ignore[attr-defined]
    with pytest.raises(Unavailable, match="at height 5"):
        again.start()


def test_another_genesis_is_refused(make_node: NodeFactory) -> None:
    """A home belongs to one chain."""
    node = make_node()
    node.seal()
    again = make_node(start=False)
    again.genesis = Genesis("other-1", node.genesis.time_ns, b"{}", validators=node.genesis.validators)
    with pytest.raises(ConfigurationError, match="another genesis"):
        again.start()


def test_a_failing_commit_leaves_nothing_behind(make_node: NodeFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block, results and state are kept together or not at all."""
    node = make_node()
    node.seal()
    commit = node.app.commit

    def failing() -> None:
        commit()
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(node.app, "commit", failing)
    with pytest.raises(RuntimeError):
        node.seal(txs=[b"lost=1"])
    assert node.height == 1
    assert node.store.tx(blocks.tx_hash(b"lost=1")) is None
    assert node.store.connection.execute("SELECT count(*) FROM kv WHERE key = 'lost'").fetchone() == (0,)
    again = make_node()
    assert again.height == again.app.info().last_height == 1
    again.seal(txs=[b"kept=1"])
    verify_chain(again)


def test_revert_forgets_blocks_and_transactions(make_node: NodeFactory) -> None:
    """After a revert the chain goes on from the past height as if the rest had never been."""
    node = make_node(validators=2, persistent=False)
    node.seal()
    node.seal(txs=[b"a=1"])
    expected = node.head.id
    node.seal(txs=[b"b=1"])
    node.submit(b"c=1")
    node.revert(2)
    assert (node.height, node.head.id, len(node.mempool)) == (2, expected, 0)
    searcher = Searcher(node.store.connection)
    assert searcher.txs(parse("set.key='b'")) == []
    assert len(searcher.txs(parse("set.key='a'"))) == 1
    assert node.store.tx(blocks.tx_hash(b"a=1")) is not None
    assert node.store.tx(blocks.tx_hash(b"b=1")) is None
    node.submit(b"b=1")
    node.seal()
    assert node.store.tx(blocks.tx_hash(b"b=1")).height == 3  # type: ignore[union-attr]
    with pytest.raises(InvalidInput):
        node.revert(9)


def test_pruning_keeps_a_window(make_node: NodeFactory) -> None:
    """Blocks below the window go, delivered transactions stay findable."""
    node = make_node(pruning_window=5)
    node.seal(txs=[b"a=1"])
    node.fast_forward(9, SECOND)
    assert (node.base, node.height) == (6, 10)
    assert node.store.block(5) is None
    assert node.store.validators(5) is None
    assert node.store.tx(blocks.tx_hash(b"a=1")) is not None
    again = make_node(pruning_window=5)
    assert again.base == 6
    verify_chain(again)


def test_listeners_hear_of_blocks_that_everyone_can_read(make_node: NodeFactory) -> None:
    """An announced block is visible to another connection, also while fsyncs are grouped."""
    node = make_node()
    heard: list[tuple[int, int]] = []
    other = make_node(start=False)

    def listen(sealed: object) -> None:
        other.store._reload()
        heard.append((sealed.height, other.store.height))  # type: ignore[attr-defined]

    node.add_listener(listen)
    node.seal()
    node.fast_forward(5, SECOND, group=3)
    assert [height for height, _ in heard] == [1, 2, 3, 4, 5, 6]
    assert all(seen >= height for height, seen in heard)
    node.remove_listener(listen)
    node.seal()
    assert len(heard) == 6


def test_a_chain_without_validators_is_refused(tmp_path: Path, make_node: NodeFactory) -> None:
    """A genesis nobody can decide blocks for is told at once."""
    node = make_node(validators=1, start=False)
    node.genesis = Genesis("test-1", 1, b"{}")
    with pytest.raises(ConfigurationError, match="no validator"):
        node.start()


def test_keys_are_derived_from_the_seed() -> None:
    """The same seed gives the same validators, another seed others."""
    assert ValidatorKeys.derive(1, 3).public_keys() == ValidatorKeys.derive(1, 3).public_keys()
    assert not set(ValidatorKeys.derive(1, 3).public_keys()) & set(ValidatorKeys.derive(2, 3).public_keys())


def test_a_killed_node_continues_at_its_last_block(tmp_path: Path, make_node: NodeFactory) -> None:
    """kill -9 in the middle of sealing loses no announced block and leaves blocks and state at one height."""
    script = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        from conftest import *
        store = BlockStore({str(tmp_path / "chain.db")!r})
        keys = ValidatorKeys.derive(1, 1)
        validators = (ValidatorUpdate(keys.public_keys()[0], 100),)
        genesis = Genesis("test-1", GENESIS_NS, b'{{"a":"<b>"}}', validators=validators)
        node = Node(KeyValueApp(store.connection), store, genesis, clock=ManualClock(GENESIS_NS), keys=keys)
        node.start()
        while True:
            node.seal(node.time_ns + 10**9 if node.height else None, [f"k{{node.height}}=v".encode()])
            print(node.height, flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    announced = 0
    while announced < 20:
        announced = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    announced = max([announced, *(int(line) for line in process.stdout.read().split() if line)])
    process.stdout.close()
    process.wait()
    node = make_node()
    assert node.height >= announced
    assert node.app.info().last_height == node.height
    node.seal(node.time_ns + SECOND)
    verify_chain(node)


def test_block_bytes_are_kept_as_encoded(make_node: NodeFactory) -> None:
    """The stored size is that of the encoding whose parts hash is in the block id."""
    node = make_node()
    node.seal(txs=[b"a=1"])
    node.store._forget()
    stored = node.store.block(1)
    assert stored is not None
    assert stored.size == len(stored.block.encode())
    assert Block.decode(stored.block.encode()) == stored.block
