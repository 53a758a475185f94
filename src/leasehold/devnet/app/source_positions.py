"""Where in the original's source a failed simulation says it failed.

The original appends the place at which an error was wrapped, for instance `[…/x/bank/keeper/send.go:298]`. Clients cut
it off or show it; the known places are given here, the others are named after the function that usually wraps them.
"""

from __future__ import annotations

import re

from leasehold.devnet.app.errors import ChainError

_SDK = "cosmos/cosmos-sdk@v0.53.5/"
_WASM = "CosmWasm/wasmd@v0.61.8/x/wasm/"
_ERRORS = "cosmossdk.io/errors@v1.0.2/errors.go:"
_EXECUTED = re.compile(r"failed to execute message; message index: \d+(?:: |$)")
# An error that a handler returned as it is: the place is where the message's index was added.
_BARE = _SDK + "baseapp/baseapp.go:1051"

# By what is left of the text without the index of the message; the first that matches.
_PLACES = tuple(
    (re.compile(pattern), place)
    for pattern, place in (
        (r".*: tx parse error", _ERRORS + "151"),
        (r"must contain at least one message", _SDK + "baseapp/baseapp.go:631"),
        (r"account sequence mismatch", _SDK + "x/auth/ante/sigverify.go:364"),
        (r"sequence is not allowed for unordered", _SDK + "x/auth/ante/sigverify.go:348"),
        (r"unordered transaction must have timeout_timestamp", _SDK + "x/auth/ante/sigverify.go:429"),
        (r"unordered tx ttl exceeds", _SDK + "x/auth/ante/sigverify.go:441"),
        (r"block time: .*timeout timestamp", _SDK + "x/auth/ante/basic.go:221"),
        (r"wrong number of signers", _SDK + "x/auth/tx/builder.go:122"),
        (r"spendable balance .*insufficient funds: insufficient funds", _SDK + "x/auth/ante/fee.go:137"),
        (r"spendable balance ", _SDK + "x/bank/keeper/send.go:298"),
        (r"failed to delegate; ", _SDK + "x/bank/keeper/keeper.go:139"),
        (r".*: invalid coins", _SDK + "x/bank/keeper/msg_server.go:49"),
        (r".* is not allowed to receive funds", _SDK + "x/bank/keeper/msg_server.go:62"),
        (r"invalid authority; expected ", _SDK + "x/bank/keeper/msg_server.go:136"),
        (r".* is not allowed to receive external funds", _SDK + "x/distribution/keeper/keeper.go:123"),
        (r"failed to get grant with given granter", _SDK + "x/authz/keeper/keeper.go:128"),
        (r"fee allowance already exists", "cosmossdk.io/x/feegrant@v0.2.0/keeper/msg_server.go:47"),
        (r"deposited .*but gov accepts only", _SDK + "x/gov/keeper/deposit.go:325"),
        (r"total weight .*invalid vote option", _SDK + "x/gov/keeper/msg_server.go:299"),
        (r".*: invalid vote option", _SDK + "x/gov/keeper/msg_server.go:258"),
        (r".*: inactive proposal", _SDK + "x/gov/keeper/vote.go:24"),
        (r"invalid delegation amount", _SDK + "x/staking/keeper/msg_server.go:257"),
        (r"invalid coin denomination: got ", _SDK + "x/staking/keeper/msg_server.go:274"),
        (r"can not create code", _WASM + "keeper/keeper.go:173"),
        (r".*: wasmvm error", _WASM + "keeper/keeper.go:450"),
        (r".*: execute wasm contract failed", _WASM + "keeper/keeper.go:457"),
        (r"can not migrate", _WASM + "keeper/keeper.go:495"),
        (r"can not modify contract", _WASM + "keeper/keeper.go:798"),
        (r".*: no such (?:code|contract)", _WASM + "types/errors.go:159"),
        (r"contract: ", _WASM + "types/tx.go:128"),
        (r"payload msg: ", _WASM + "types/tx.go:135"),
        (r"label: ", _WASM + "types/validation.go:48"),
        (r"invalid source channel ID", "cosmos/ibc-go/v10@v10.5.0/modules/core/24-host/validate.go:49"),
        (r"source port: ", "Nolus-Protocol/nolus-core/x/transfer/keeper/keeper.go:46"),
        (r"invalid start time", "Nolus-Protocol/nolus-core/x/vestings/types/message_create_vesting_account.go:58"),
    )
)


def source_position(error: ChainError) -> str:
    """The bracketed place with a blank before it; nothing for errors the original never wraps."""
    if error.kind.codespace == "undefined" and not error.kind.description:
        return ""
    executed = _EXECUTED.match(error.log)
    text = error.log[executed.end() :] if executed else error.log
    if executed and text == error.kind.description:
        return f" [{_BARE}]"
    place = next((place for pattern, place in _PLACES if pattern.match(text)), _ERRORS + "155")
    return f" [{place}]"
