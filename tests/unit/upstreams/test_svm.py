"""The svm stand-in: balances, transactions with our own send instruction, packets and their ends."""

from __future__ import annotations

import base64
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.unit.upstreams.conftest import FakeChain, Service, running, wallet

from leasehold.chain.svm import addresses, programs, transactions
from leasehold.chain.svm.addresses import encode
from leasehold.chain.svm.transactions import AccountMeta, Instruction, little
from leasehold.core.clock import ManualClock

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OWNER = KEY.public_key().public_bytes_raw()
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
MINT = addresses.decode("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v")
BUDGET = programs.compute_budget(200_000, 1000)
FEE = 5000 + 200
RECIPIENT = wallet("recipient")


async def _call(service: Service, method: str, *params: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}
    status, answer = await service.ask("POST", "/svm", body)
    assert status == 200
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 1)
    return answer


async def _value(service: Service, method: str, *params: Any) -> Any:
    answer = await _call(service, method, *params)
    assert "error" not in answer, answer
    result = answer["result"]
    return result["value"] if isinstance(result, dict) and "context" in result else result


async def _signed(service: Service, *instructions: Instruction, key: Ed25519PrivateKey = KEY) -> str:
    blockhash = await _value(service, "getLatestBlockhash")
    payer = key.public_key().public_bytes_raw()
    message = transactions.compiled(payer, addresses.decode(blockhash["blockhash"]), instructions)
    return base64.b64encode(b"\x01" + key.sign(message) + message).decode()


async def _send(service: Service, *instructions: Instruction) -> Any:
    return await _call(service, "sendTransaction", await _signed(service, *instructions), {"encoding": "base64"})


async def _tokens(service: Service, owner: bytes = OWNER) -> int | None:
    options = {"commitment": "confirmed", "encoding": "jsonParsed"}
    found = await _value(service, "getTokenAccountsByOwner", encode(owner), {"mint": encode(MINT)}, options)
    amounts = [int(one["account"]["data"]["parsed"]["info"]["tokenAmount"]["amount"]) for one in found]
    return sum(amounts) if amounts else None


def _order(service: Service, **changes: Any) -> Instruction:
    members: dict[str, Any] = {
        "kind": programs.SOURCE,
        "channel": 9,
        "amount": 400,
        "timeout_revision": 0,
        "timeout_height": service.upstreams.svm.slot + 1000,
        "timeout_ns": 0,
        "recipient": RECIPIENT,
        **changes,
    }
    return programs.send(service.upstreams.svm.program, OWNER, MINT, programs.Send(**members))


async def _fund(service: Service) -> None:
    await _value(service, "requestAirdrop", encode(OWNER), 10**9)
    await _value(service, "standinMintTo", encode(OWNER), encode(MINT), 1000, 6)


async def _packets(service: Service, channel: int = 9) -> tuple[list[int], dict[int, bool]]:
    """Sequences without an outcome, and outcomes by sequence, as the program's accounts list them."""
    program = service.upstreams.svm.program
    found: list[Any] = []
    for account, read in (
        (programs.commitments_account(program, channel), programs.parse_commitments),
        (programs.acknowledgements_account(program, channel), programs.parse_acknowledgements),
    ):
        value = await _value(service, "getAccountInfo", encode(account), {"encoding": "base64"})
        found.append(None if value is None else read(base64.b64decode(value["data"][0])))
    return found[0], found[1]


async def test_a_token_account_is_created_once(service: Service) -> None:
    """Simulation keeps nothing; the signed transaction creates the account, and again changes nothing but the fee."""
    await _value(service, "requestAirdrop", encode(OWNER), 10**9)
    await _value(service, "standinMintTo", encode(OTHER), encode(MINT), 5, 6)
    create = programs.create_associated_account(OWNER, MINT)
    tried = await _value(
        service, "simulateTransaction", await _signed(service, *BUDGET, create), {"encoding": "base64"}
    )
    assert tried["err"] is None
    assert await _tokens(service) is None
    assert await _value(service, "getBalance", encode(OWNER)) == 10**9
    signature = (await _send(service, *BUDGET, create))["result"]
    assert await _tokens(service) == 0
    assert await _value(service, "getBalance", encode(OWNER)) == 10**9 - FEE - 2_039_280
    (status,) = await _value(service, "getSignatureStatuses", [signature])
    assert (status["err"], status["confirmationStatus"]) == (None, "confirmed")
    service.clock.advance(seconds=1)
    assert "result" in await _send(service, *BUDGET, create)
    assert await _value(service, "getBalance", encode(OWNER)) == 10**9 - 2 * FEE - 2_039_280


async def test_the_same_transaction_counts_once(service: Service, database: str, clock: ManualClock) -> None:
    """Sending signed bytes again gives the same signature and moves nothing, also after a restart."""
    await _fund(service)
    raw = await _signed(service, *BUDGET, _order(service))
    first = await _call(service, "sendTransaction", raw, {"encoding": "base64"})
    again = await _call(service, "sendTransaction", raw, {"encoding": "base64"})
    assert first == again
    async with running(database, clock, FakeChain()) as restarted:
        assert await _call(restarted, "sendTransaction", raw, {"encoding": "base64"}) == first
        assert await _tokens(restarted) == 600
        assert (await _packets(restarted))[0] == [1]


async def test_a_send_leaves_and_arrives(service: Service) -> None:
    """A source send moves tokens to the vault and commits a packet, which is acknowledged a little later."""
    await _fund(service)
    assert (await _packets(service)) == (None, None)
    assert "result" in await _send(service, *BUDGET, _order(service))
    assert await _tokens(service) == 600
    vault = programs.vault_account(service.upstreams.svm.program, MINT)
    assert (await _value(service, "getTokenAccountBalance", encode(vault)))["amount"] == "400"
    assert await _packets(service) == ([1], {})
    await service.step("packets")
    assert await _packets(service) == ([1], {})
    service.clock.advance(seconds=2)
    await service.step("packets")
    assert await _packets(service) == ([], {1: True})
    assert await _tokens(service) == 600


async def test_a_late_packet_is_refunded(service: Service) -> None:
    """A packet whose timeout passes before it is relayed comes back, whether it was escrowed or burnt."""
    await _fund(service)
    soon = service.upstreams.svm.slot + 2
    assert "result" in await _send(service, _order(service, timeout_height=soon))
    assert "result" in await _send(service, _order(service, kind=programs.SINK, timeout_height=soon, amount=7))
    assert await _tokens(service) == 593
    service.clock.advance(seconds=3)
    await service.step("packets")
    assert await _packets(service) == ([], {1: False, 2: False})
    assert await _tokens(service) == 1000
    row = await service.upstreams.database.fetchrow(
        "SELECT supply FROM upstreams.svm_mints WHERE mint = $1", encode(MINT)
    )
    assert int(row["supply"]) == 1000


async def test_what_can_not_be_done_changes_nothing_but_the_fee(service: Service) -> None:
    """Preflight refuses; without it the failure is recorded, the fee taken and every instruction undone."""
    await _fund(service)
    account = programs.associated_account(OWNER, MINT)
    theft = Instruction(
        programs.TOKEN,
        (AccountMeta(programs.associated_account(OTHER, MINT), writable=True), AccountMeta(account, writable=True),
         AccountMeta(OWNER, signer=True)),
        b"\x03" + little("Q", 1),
    )  # fmt: skip
    await _value(service, "standinMintTo", encode(OTHER), encode(MINT), 5, 6)
    pay = Instruction(
        programs.SYSTEM,
        (AccountMeta(OWNER, signer=True, writable=True), AccountMeta(OTHER, writable=True)),
        b"\x02\0\0\0" + little("Q", 100),
    )
    for bad in (
        _order(service, amount=1001),
        _order(service, amount=0),
        _order(service, recipient=""),
        _order(service, timeout_height=0),
        _order(service, timeout_height=service.upstreams.svm.slot),
        theft,
        Instruction(OTHER, (), b""),
        programs.create_associated_account(OWNER, OTHER),
    ):
        before = await _value(service, "getBalance", encode(OWNER))
        answer = await _send(service, pay, bad)
        assert answer["error"]["code"] == -32002, bad
        assert await _value(service, "getBalance", encode(OWNER)) == before
        raw = await _signed(service, pay, bad)
        sent = await _value(service, "sendTransaction", raw, {"encoding": "base64", "skipPreflight": True})
        (status,) = await _value(service, "getSignatureStatuses", [sent])
        assert status["err"]["InstructionError"][0] == 1
        assert await _value(service, "getBalance", encode(OWNER)) == before - 5000
        service.clock.advance(seconds=1)
    assert await _tokens(service) == 1000
    assert await _tokens(service, OTHER) == 5


async def test_signatures_and_blockhashes_are_checked(service: Service) -> None:
    """Unsigned and foreign signatures are refused; a blockhash is good for 150 slots."""
    await _fund(service)
    raw = base64.b64decode(await _signed(service, _order(service)))
    for bent in (b"\x01" + bytes(64) + raw[65:], b"\x01" + raw[1:65][::-1] + raw[65:]):
        text = base64.b64encode(bent).decode()
        answer = await _call(service, "sendTransaction", text, {"encoding": "base64"})
        assert answer["error"]["code"] == -32003
    blockhash = (await _value(service, "getLatestBlockhash"))["blockhash"]
    assert await _value(service, "isBlockhashValid", blockhash) is True
    service.clock.advance(seconds=61)
    assert await _value(service, "isBlockhashValid", blockhash) is False
    answer = await _call(service, "sendTransaction", base64.b64encode(raw).decode(), {"encoding": "base64"})
    assert answer["error"]["data"]["err"] == "BlockhashNotFound"


async def test_time_goes_on_after_a_restart(service: Service, database: str, clock: ManualClock) -> None:
    """Slots follow the clock from the same beginning; epochs follow slots."""
    first = await _value(service, "getEpochInfo", {"commitment": "confirmed"})
    clock.advance(seconds=432_000)
    async with running(database, clock, FakeChain()) as restarted:
        later = await _value(restarted, "getEpochInfo")
        assert later["absoluteSlot"] == first["absoluteSlot"] + 432_000 * 10 // 4
        assert later["epoch"] == first["epoch"] + 2
        assert later["epoch"] * later["slotsInEpoch"] + later["slotIndex"] == later["absoluteSlot"]


async def test_bad_calls_have_json_rpc_errors(service: Service) -> None:
    """Whatever is sent, the answer is JSON-RPC with the right code, and batches are answered one by one."""
    address = encode(OWNER)
    for method, params, code in (
        ("getNothing", [], -32601),
        ("getBalance", [], -32602),
        ("getBalance", ["foo"], -32602),
        ("getBalance", [5], -32602),
        ("getTokenAccountsByOwner", [address], -32602),
        ("getTokenAccountsByOwner", [address, {"mint": "x"}], -32602),
        ("requestAirdrop", [address, -1], -32602),
        ("requestAirdrop", [address, 10**30], -32602),
        ("standinMintTo", [address, address, 1, 99], -32602),
        ("simulateTransaction", ["!!", {"encoding": "base64"}], -32602),
        ("simulateTransaction", ["AAAA", {"encoding": "base64"}], -32602),
        ("simulateTransaction", ["AAAA", {"encoding": "hex"}], -32602),
        ("getSignatureStatuses", ["x"], -32602),
    ):
        assert (await _call(service, method, *params))["error"]["code"] == code, (method, params)
    for body, code in ((b"{", -32700), (b"[]", -32600), (b"5", -32600), (b'{"id":1}', -32600), (b"\xff", -32700)):
        async with service.client.post("/svm", data=body) as response:
            assert (response.status, (await response.json())["error"]["code"]) == (200, code)
    request = {"jsonrpc": "2.0", "id": 4, "method": "getHealth"}
    _, answers = await service.ask("POST", "/svm", [request, {**request, "id": 5, "method": "x"}])
    assert [answer["id"] for answer in answers] == [4, 5]
    assert answers[0]["result"] == "ok"
