"""Signs and broadcasts what the application API's builders return, with cosmpy; runs in cosmpy's own environment.

Each line in is {built, denom}, each line out {hash}, {address} first of all, or {error}.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

# The definitions register themselves when they are imported.
import cosmpy.protos.cosmos.distribution.v1beta1.tx_pb2
import cosmpy.protos.cosmos.gov.v1.tx_pb2
import cosmpy.protos.cosmos.staking.v1beta1.tx_pb2
import cosmpy.protos.cosmwasm.wasm.v1.tx_pb2  # noqa: F401
from cosmpy.aerial.client import LedgerClient, NetworkConfig
from cosmpy.aerial.client.utils import prepare_and_broadcast_basic_transaction
from cosmpy.aerial.tx import Transaction, TxFee
from cosmpy.aerial.wallet import LocalWallet
from google.protobuf import descriptor_pool, message_factory
from google.protobuf.json_format import ParseDict


def filled(message: dict[str, Any], address: str, denom: str) -> Any:
    """A built message as cosmpy's own type, with the blanks filled in."""
    members = {name: value for name, value in message.items() if name != "@type"}
    value = {name: address if given == "" and name != "metadata" else given for name, given in members.items()}
    if "funds" in value:
        value["funds"] = [{**coin, "denom": coin["denom"] or denom} for coin in value["funds"]]
    contents = value.pop("msg", None)
    described = descriptor_pool.Default().FindMessageTypeByName(message["@type"].lstrip("/"))
    made = ParseDict(value, message_factory.GetMessageClass(described)())
    if contents is not None:
        made.msg = json.dumps(contents).encode()
    return made


def main() -> None:
    settings = os.environ
    wallet = LocalWallet.from_mnemonic(settings["MNEMONIC"], prefix=settings["PREFIX"])
    client = LedgerClient(
        NetworkConfig(
            chain_id=settings["CHAIN_ID"],
            fee_minimum_gas_price=0.0025,
            fee_denomination=settings["DENOM"],
            staking_denomination=settings["DENOM"],
            url=settings["NODE"],
        )
    )
    address = str(wallet.address())
    print(json.dumps({"address": address}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        built = asked["built"]
        transaction = Transaction()
        for message in built["messages"]:
            transaction.add_message(filled(message, address, asked["denom"]))
        fee = None
        if "fee" in built:
            coins = ",".join(f"{coin['amount']}{coin['denom']}" for coin in built["fee"]["amount"])
            fee = TxFee(amount=coins, gas_limit=int(built["fee"]["gas_limit"]))
        try:
            sent = prepare_and_broadcast_basic_transaction(client, transaction, wallet, fee=fee, memo=built["memo"])
            print(json.dumps({"hash": sent.tx_hash}), flush=True)
        except RuntimeError as error:
            print(json.dumps({"error": str(error)}), flush=True)


main()
