"""What accounts did, by the transactions of a development chain: messages, stakes, votes, transfers, claims, feeds."""

from __future__ import annotations

import json
from hashlib import sha256
from math import gcd
from typing import TYPE_CHECKING, Any

from devnet_reader import attributes, coins, instant
from table_comparison import OPTIONAL

if TYPE_CHECKING:
    from devnet_truth import Truth
    from devnet_witness import Row

TRANSFER, STAKING, VOTING, EARN, POSITION, CONTRACT = range(1, 7)
USER_CALLS = {
    "deposit", "burn", "burn_deposit", "open_lease", "repay", "claim_rewards", "close_position", "change_close_policy",
}  # fmt: skip
STAKES = {
    "/cosmos.staking.v1beta1.MsgDelegate": "delegate",
    "/cosmos.staking.v1beta1.MsgUndelegate": "undelegate",
    "/cosmos.staking.v1beta1.MsgBeginRedelegate": "redelegate",
    "/cosmos.distribution.v1beta1.MsgWithdrawDelegatorReward": "withdraw",
}
OPTIONS = {1: "yes", 2: "abstain", 3: "no", 4: "no_with_veto"}
STATUSES = {1: "deposit", 2: "voting", 3: "passed", 4: "rejected", 5: "failed"}


class AccountTruth:
    """Expected rows of the tables about accounts."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self.chain = truth.chain
        self.types = self.chain.devnet.registry
        self.hash = b""
        self.votes: dict[tuple[int, str], Row] = {}
        self.feeds: list[Row] = []
        self.proposal_times: dict[int, Any] = {}
        self.ended: dict[int, Any] = {}
        self.wording: dict[int, str] = {}

    def tx(self, index: int, raw: bytes, result: Any, fed: set[str]) -> str:
        """Take in a transaction; returns who asked for a lease in it."""
        truth = self.truth
        self.index, self.hash, self.result = index, sha256(raw).digest(), result
        outer = self.types.parse("cosmos.tx.v1beta1.TxRaw", raw)
        body = self.types.parse("cosmos.tx.v1beta1.TxBody", outer.body_bytes)
        fee = self.types.parse("cosmos.tx.v1beta1.AuthInfo", outer.auth_info_bytes).fee.amount
        truth.tables["txs"].append(
            {
                "height": truth.at,
                "tx": index,
                "hash": self.hash,
                "code": result.code,
                "gas_wanted": result.gas_wanted,
                "gas_used": result.gas_used,
                "fee_amount": int(fee[0].amount) if fee else 0,
                "fee_denom": fee[0].denom if fee else None,
                "memo": body.memo,
                "time": truth.time,
            }
        )
        opener = ""
        for number, packed in enumerate(body.messages):
            for inner, one in enumerate(self._unfolded(packed)):
                self.place = {"height": truth.at, "tx": index, "message": number, "inner_message": inner}
                opener = self._message(one.type_url, one.value, fed) or opener
        self._governance(result.events if result.code == 0 else [])
        return opener

    def _unfolded(self, packed: Any) -> list[Any]:
        found = [packed]
        if packed.type_url == "/cosmos.authz.v1beta1.MsgExec":
            for nested in self.types.parse("cosmos.authz.v1beta1.MsgExec", packed.value).msgs:
                found += self._unfolded(nested)
        return found

    def _message(self, kind: str, value: bytes, fed: set[str]) -> str:
        done = self.result.code == 0
        match kind.rpartition(".")[2]:
            case "MsgSend":
                one = self._parsed(kind, value)
                self._note(kind, value, TRANSFER, one.from_address, one.to_address)
                for ordinal, coin in enumerate(one.amount if done else ()):
                    self._moved(ordinal, "send", one.from_address, one.to_address, coin.amount, coin.denom)
            case "MsgMultiSend" if done:
                one = self._parsed(kind, value)
                paid = [(output.address, coin) for output in one.outputs for coin in output.coins]
                for ordinal, (receiver, coin) in enumerate(paid):
                    self._moved(ordinal, "send", one.inputs[0].address, receiver, coin.amount, coin.denom)
            case "MsgTransfer":
                one = self._parsed(kind, value)
                self._note(kind, value, TRANSFER, one.sender, one.receiver)
                if done:
                    self._moved(0, "ibc-out", one.sender, one.receiver, one.token.amount, one.token.denom)
            case "MsgRecvPacket":
                self._received(kind, value, done)
            case "MsgVote" | "MsgVoteWeighted":
                one = self._parsed(kind, value)
                self._note(kind, value, VOTING, one.voter, str(one.proposal_id))
                if done:
                    self._voted(one)
            case "MsgDelegate" | "MsgUndelegate" | "MsgBeginRedelegate" | "MsgWithdrawDelegatorReward":
                self._staked(kind, value, done)
            case "MsgExecuteContract":
                return self._called(kind, value, fed, done)
        return ""

    def _parsed(self, kind: str, value: bytes) -> Any:
        return self.types.parse(kind[1:], value)

    def _note(
        self, type_url: str, value: bytes, kind: int, sender: str, receiver: str, rewards: str | None = None
    ) -> None:
        tables = self.truth.tables
        row = {"type": type_url, "sender": sender, "receiver": receiver, "value": value, "rewards": rewards}
        tables["messages"].append({**self.place, **row})
        for address in {sender, receiver}:
            if "1" in address:
                tables["account_messages"].append({"address": address, "kind": kind, **self.place})

    def _moved(self, ordinal: int, kind: str, sender: str, receiver: str, amount: str, denom: str) -> None:
        row = {"ordinal": ordinal, "kind": kind, "sender": sender, "receiver": receiver, "denom": denom}
        self.truth.tables["transfers"].append({**self.place, **row, "amount": int(amount), "time": self.truth.time})

    def _received(self, kind: str, value: bytes, done: bool) -> None:
        try:
            data = json.loads(self._parsed(kind, value).packet.data)
            sender, receiver, amount, denom = (data[name] for name in ("sender", "receiver", "amount", "denom"))
        except (ValueError, KeyError, TypeError):
            return
        self._note(kind, value, TRANSFER, sender, receiver)
        if done:
            self._moved(0, "ibc-in", sender, receiver, amount, denom)

    def _caused(self) -> list[tuple[str, dict[str, str]]]:
        """Events of the message at hand."""
        number = str(self.place["message"])
        found = [(event.type, attributes(event)) for event in self.result.events]
        return [(kind, one) for kind, one in found if one.get("msg_index") == number]

    def _staked(self, type_url: str, value: bytes, done: bool) -> None:
        one, kind, truth = self._parsed(type_url, value), STAKES[type_url], self.truth
        validator = one.validator_dst_address if kind == "redelegate" else one.validator_address
        rewards = None
        if kind == "withdraw":
            for name, found in self._caused():
                if name == "withdraw_rewards" and found["validator"] == validator:
                    rewards = found["amount"]
        self._note(type_url, value, STAKING, one.delegator_address, validator, rewards)
        if not done:
            return
        native = self.chain.native_denom
        amount = sum(n for n, denom in coins(rewards or "") if denom == native)
        if kind != "withdraw":
            assert one.amount.denom == native
            amount = int(one.amount.amount)
        price = truth.native_price()
        truth.tables["staking_activity"].append(
            {
                **self.place,
                "delegator": one.delegator_address,
                "kind": kind,
                "validator": validator,
                "source_validator": one.validator_src_address if kind == "redelegate" else None,
                "amount": amount,
                "denom": native,
                "usd": None if price is None else amount * price // 10**self.chain.devnet.app.identity.exponent,
                "time": truth.time,
                "tx_hash": self.hash,
            }
        )

    def _voted(self, vote: Any) -> None:
        truth, number = self.truth, vote.proposal_id
        weights = None
        if hasattr(vote, "options"):
            weights = [[OPTIONS[one.option], _shortest(one.weight)] for one in vote.options]
            option = weights[0][0] if len(weights) == 1 else "weighted"
        else:
            option = OPTIONS[vote.option]
        self.votes[number, vote.voter] = {
            "proposal": number,
            "voter": vote.voter,
            "option": option,
            "weights": weights if weights is not None and len(weights) > 1 else None,
            "height": truth.at,
            "time": truth.time,
        }
        self.proposal_times[number] = truth.time

    def _governance(self, events: list[Any]) -> None:
        for event in events:
            found = attributes(event)
            number = found.get("proposal_id") or found.get("voting_period_start") or ""
            if event.type in ("submit_proposal", "proposal_deposit") and number.isdigit():
                self.proposal_times[int(number)] = self.truth.time
                if "proposal_messages" in found:
                    self.wording[int(number)] = found["proposal_messages"]

    def _called(self, kind: str, value: bytes, fed: set[str], done: bool) -> str:
        one = self._parsed(kind, value)
        call = json.loads(one.msg)
        name = next(iter(call))
        if name == "feed_prices" and done:
            self._fed(one, call["feed_prices"]["prices"], fed)
        if name not in USER_CALLS:
            return ""
        concern = CONTRACT
        if self.chain.by_contract("lpp", one.contract):
            concern = EARN
        elif self.chain.by_contract("leaser", one.contract) or self._lives(one.contract):
            concern = POSITION
        rewards = None
        if name == "claim_rewards":
            for event, found in self._caused():
                if event == "transfer" and (found["sender"], found["recipient"]) == (one.contract, one.sender):
                    rewards = found["amount"]
                    break
        self._note(kind, value, concern, one.sender, one.contract, rewards)
        if name == "claim_rewards" and done:
            self._claimed(one, rewards)
        return str(one.sender) if name == "open_lease" else ""

    def _lives(self, contract: str) -> bool:
        position = self.truth.leases.get(contract)
        return position is not None and position["status"] in ("opening", "open", "closing")

    def _claimed(self, one: Any, rewards: str | None) -> None:
        truth = self.truth
        amount = sum(n for n, denom in coins(rewards or "") if denom == self.chain.native_denom)
        if not amount:
            return
        price = truth.native_price(self.chain.by_contract("lpp", one.contract))
        usd = None if price is None else amount * price // 10**self.chain.devnet.app.identity.exponent
        row = {"lender": one.sender, "pool": one.contract, "amount": amount, "usd": usd, "time": truth.time}
        truth.tables["reward_claims"].append({**self.place, **row})
        known = truth.lenders.get((one.sender, one.contract))
        if known is not None:
            known["rewards"] += amount
            known["updated_at"] = truth.time

    def _fed(self, one: Any, prices: list[Any], fed: set[str]) -> None:
        protocol = self.chain.by_contract("oracle", one.contract)
        assert protocol is not None
        fed.add(protocol.name)
        quotes = []
        for item in prices:
            amount, quote = int(item["amount"]["amount"]), int(item["amount_quote"]["amount"])
            both = gcd(amount, quote)
            pair = item["amount"]["ticker"], item["amount_quote"]["ticker"]
            quotes.append([*pair, str(amount // both), str(quote // both)])
        row = {"oracle": one.contract, "feeder": one.sender, "time_ns": self.truth.now, "prices": quotes}
        self.feeds.append({**self.place, **row})

    # The end.

    def complete(self, tables: dict[str, list[Row]], height: int) -> None:
        """Votes, proposals and the observations that still count."""
        tables["votes"] = list(self.votes.values())
        tables["proposals"] = [self._proposal(one) for one in self._on_chain("Proposals", height).proposals]
        tables["price_feeds"] = [self._observed(row, self.chain.time_ns(height)) for row in self.feeds]
        stakers: dict[str, Row] = {}
        for row in tables.get("staking_activity", []):
            if row["kind"] == "withdraw":
                known = stakers.setdefault(
                    row["delegator"], {"address": row["delegator"], "withdrawals": 0, "rewards": 0, "rewards_usd": 0}
                )
                known["withdrawals"] += 1
                known["rewards"] += row["amount"]
                known["rewards_usd"] += row["usd"] or 0
                known["updated_at"] = row["time"]
        tables["stakers"] = list(stakers.values())
        self._votes_on_chain(height)

    def _observed(self, row: Row, now: int) -> Row:
        """An observation; one that its oracle does not look at any more may have been dropped."""
        config = self.chain.ask(row["oracle"], {"config": {}}, self.truth.height)["price_config"]
        period = config["sample_period_secs"] * config["samples_number"] * 10**9
        return {**row, OPTIONAL: row["time_ns"] < now - period}

    def _on_chain(self, name: str, height: int, **fields: Any) -> Any:
        request = self.types.new(f"cosmos.gov.v1.Query{name}Request", pagination={"limit": 1000}, **fields)
        return self.chain.answer(f"/cosmos.gov.v1.Query/{name}", request, height)

    def _proposal(self, one: Any) -> Row:
        status = STATUSES[one.status]
        ended = None
        if status not in ("deposit", "voting"):
            over = _moment(one.voting_end_time)
            ended = next(row["time"] for row in self.truth.tables["blocks"] if row["time"] >= over)
        return {
            "id": one.id,
            "proposer": one.proposer,
            "messages": self.wording[one.id],
            "status": status,
            "submitted_at": _moment(one.submit_time),
            "voting_at": None if status == "deposit" else _moment(one.voting_start_time),
            "ended_at": ended,
            "votes": len({voter for number, voter in self.votes if number == one.id}),
            "updated_at": ended or self.proposal_times[one.id],
        }

    def _votes_on_chain(self, height: int) -> None:
        """The chain itself has exactly these votes for what is still at the vote."""
        for one in self._on_chain("Proposals", height).proposals:
            if STATUSES[one.status] == "voting":
                found = self._on_chain("Votes", height, proposal_id=one.id).votes
                assert {vote.voter for vote in found} == {v for number, v in self.votes if number == one.id}


def _shortest(share: str) -> str:
    return share.rstrip("0").rstrip(".") if "." in share else share


def _moment(stamp: Any) -> Any:
    return instant(stamp.seconds * 10**9 + stamp.nanos)
