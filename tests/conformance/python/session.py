"""Run inside cosmpy's own environment: uses a devnet as any chain, over gRPC or the LCD, and prints what it saw."""

import json
import os
import sys

from cosmpy.aerial.client import LedgerClient, NetworkConfig
from cosmpy.aerial.client.bank import create_bank_send_msg
from cosmpy.aerial.client.utils import prepare_basic_transaction
from cosmpy.aerial.contract import LedgerContract
from cosmpy.aerial.exceptions import BroadcastError, NotFoundError
from cosmpy.aerial.tx import Transaction
from cosmpy.aerial.wallet import LocalWallet
from cosmpy.crypto.address import Address
from cosmpy.protos.cosmos.bank.v1beta1.tx_pb2 import MsgSend
from cosmpy.protos.cosmos.tx.v1beta1.service_pb2 import GetTxRequest, GetTxsEventRequest


def main(url: str) -> None:
    """Connect, query, simulate, sign, broadcast, search, decode, stake and call a contract."""
    chain, denom = os.environ["CHAIN_ID"], os.environ["DENOM"]
    # The client multiplies a simulation by 1.65; the price is the lowest the node takes.
    network = NetworkConfig(chain, 0.0025, denom, denom, url)
    # However slow the machine is; its own fifteen seconds are for a chain that somebody else runs.
    client = LedgerClient(network, query_interval_secs=0.2, query_timeout_secs=240)
    wallet = LocalWallet.from_mnemonic(os.environ["MNEMONIC"], os.environ["PREFIX"])
    recipient = Address(os.environ["RECIPIENT"])
    seen = {"address": str(wallet.address()), "chain": client.query_chain_id(), "height": client.query_height()}
    seen["node"] = client.query_node_info().app_name
    seen["first"] = client.query_block(1).height
    seen["max_gas"] = client.query_consensus_params().params.block.max_gas
    seen["sequence"] = client.query_account(wallet.address()).sequence
    seen["denoms"] = [coin.denom for coin in client.query_bank_all_balances(wallet.address())]
    try:
        client.query_tx("AB" * 32)
    except NotFoundError:
        seen["unknown"] = True

    def message() -> MsgSend:
        return create_bank_send_msg(wallet.address(), recipient, 1234, denom)

    before = client.query_bank_balance(recipient)
    sent = client.send_tokens(recipient, 1234, denom, wallet, memo="é <b> & c").wait_to_complete()
    seen["code"], seen["received"] = sent.response.code, client.query_bank_balance(recipient) - before
    seen["transfer"] = sent.response.events["transfer"]["recipient"]
    seen["gas"] = [sent.response.gas_used, sent.response.gas_wanted]
    # Decoded again from what the node stored.
    stored = client.txs.GetTx(GetTxRequest(hash=sent.tx_hash)).tx
    decoded = MsgSend()
    stored.body.messages[0].Unpack(decoded)
    seen["decoded"] = [stored.body.memo, decoded.to_address, decoded.amount[0].amount]
    query = f"tx.height={sent.response.height}"
    found = client.txs.GetTxsEvent(GetTxsEventRequest(query=query, events=[query]))
    seen["found"] = [response.txhash for response in found.tx_responses]
    seen["hash"] = sent.tx_hash

    prepared = prepare_basic_transaction(client, Transaction().add_message(message()), wallet)
    seen["simulated"] = client.simulate_tx(prepared)
    client.broadcast_tx(prepared).wait_to_complete()
    try:
        # Signed for a sequence that is used up by now.
        client.broadcast_tx(prepared)
    except BroadcastError as refusal:
        seen["repeated"] = type(refusal).__name__

    validator = Address(os.environ["VALIDATOR"])
    seen["validators"] = [str(known.address) for known in client.query_validators()]
    client.delegate_tokens(validator, 5_000_000, wallet).wait_to_complete()
    seen["staked"] = client.query_staking_summary(wallet.address()).total_staked
    client.claim_rewards(validator, wallet).wait_to_complete()
    client.undelegate_tokens(validator, 1_000_000, wallet).wait_to_complete()
    seen["unbonding"] = client.query_staking_summary(wallet.address()).total_unbonding

    pool = LedgerContract(None, client, address=Address(os.environ["POOL"]))
    seen["lpn"] = pool.query({"lpn": []})
    deposit = pool.execute({"deposit": []}, wallet, funds=f"7000000{os.environ['POOL_DENOM']}").wait_to_complete()
    seen["deposit"] = "wasm-lp-deposit" in deposit.response.events
    seen["receipts"] = pool.query({"balance": {"address": str(wallet.address())}})["amount"]
    print(json.dumps(seen))


if __name__ == "__main__":
    main(sys.argv[1])
