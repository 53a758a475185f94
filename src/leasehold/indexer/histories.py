"""Histories of accounts: the messages that concern them, and what these did to stakes, votes and rewards."""

from __future__ import annotations

from collections.abc import Mapping

from leasehold.chain.client import wire
from leasehold.indexer import accounts, decode
from leasehold.indexer.accounts import CONTRACT, EARN, POSITION
from leasehold.indexer.chain_events import ChainFacts, attribute, by_message, coins
from leasehold.indexer.decode import Message, Misfit, Tx
from leasehold.indexer.governance import Governance
from leasehold.indexer.knowledge import LEASER, LPP
from leasehold.indexer.moment import Moment
from leasehold.indexer.pool_events import Pools
from leasehold.indexer.world import World


class Histories:
    """Notes the messages of transactions under the accounts they concern."""

    def __init__(self, world: World, chain: ChainFacts, governance: Governance, pools: Pools) -> None:
        self.world = world
        self.chain = chain
        self.governance = governance
        self.pools = pools

    def tx(self, moment: Moment, tx: Tx, misfits: list[Misfit]) -> str:
        """Note all messages of a transaction; returns who asked for a lease in it, if anyone did."""
        grouped: Mapping[int, list[wire.Event]] | None = None
        opener = ""
        for message in tx.messages:
            call = None
            if message.type_url == decode.EXECUTE and message.content is not None:
                call = accounts.contract_call(message)
                if call is not None and "open_lease" in call:
                    opener = message.content.sender
            found = accounts.concern(message, call)
            if found is None:
                if message.type_url == decode.MULTI_SEND and tx.code == 0 and message.content is not None:
                    self.chain.transferred(moment, message)
                continue
            rewards = None
            if message.type_url == decode.WITHDRAW_REWARD or (call is not None and "claim_rewards" in call):
                if grouped is None:
                    grouped = by_message(tx.events)
                rewards = _rewards(message, grouped.get(message.message, []))
            self._note_message(moment, message, found, rewards)
            if tx.code == 0:
                try:
                    self._act(moment, message, found, rewards)
                except (ValueError, KeyError, AttributeError) as error:
                    reason = f"{message.type_url}: {error!r}"
                    misfits.append(Misfit(tx.index, "message", len(misfits), reason, message.value))
        return opener

    def _note_message(self, moment: Moment, message: Message, found: accounts.Concern, rewards: str | None) -> None:
        kind = found.kind
        if kind == CONTRACT:
            role = self.world.knowledge.roles.get(found.receiver)
            if role is not None and role[0] == LPP:
                kind = EARN
            elif (role is not None and role[0] == LEASER) or found.receiver in self.world.positions:
                kind = POSITION
        key = (moment.height, moment.tx, message.message, message.inner)
        moment.rows.append("messages", (*key, message.type_url, found.sender, found.receiver, message.value, rewards))
        for address in {found.sender, found.receiver}:
            if "1" in address:
                moment.rows.append("account_messages", (address, kind, *key))

    def _act(self, moment: Moment, message: Message, found: accounts.Concern, rewards: str | None) -> None:
        match found.kind:
            case accounts.TRANSFER:
                self.chain.transferred(moment, message)
            case accounts.STAKING:
                self.chain.staked(moment, message, rewards)
            case accounts.VOTING:
                self.governance.voted(moment, message)
            case _:
                if found.call is not None and "claim_rewards" in found.call:
                    native = self.world.knowledge.native_denom
                    amount = sum(amount for amount, denom in coins(rewards or "") if denom == native)
                    if amount:
                        self.pools.claimed(moment, found.sender, found.receiver, amount, message.message, message.inner)


def _rewards(message: Message, caused: list[wire.Event]) -> str | None:
    """What a reward withdrawal paid, as a coin list."""
    content = message.content
    if message.type_url == decode.WITHDRAW_REWARD:
        for event in caused:
            if (
                event.type == "withdraw_rewards"
                and attribute(event, "validator") == content.validator_address
                and attribute(event, "delegator") in ("", content.delegator_address)
            ):
                return attribute(event, "amount")
        return None
    for event in caused:
        parties = attribute(event, "sender"), attribute(event, "recipient")
        if event.type == "transfer" and parties == (content.contract, content.sender):
            return attribute(event, "amount")
    return None
