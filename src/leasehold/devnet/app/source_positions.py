"""Where in the original's source a failed simulation says it failed.

The original appends the place at which an error was wrapped, for instance `[…/x/bank/keeper/send.go:298]`. Clients cut
it off or show it; the known places are given here, the others are named after the function that usually wraps them.
"""

from __future__ import annotations

import re

from leasehold.devnet.app.errors import ChainError

_SDK = "cosmos/cosmos-sdk@v0.53.5/"
_WASM = "CosmWasm/wasmd@v0.61.8/x/wasm/"
_VESTINGS = "Nolus-Protocol/nolus-core/x/vestings/"
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
        (
            r"unordered transaction has a timeout_timestamp that has already passed",
            _SDK + "x/auth/ante/sigverify.go:435",
        ),
        (r"block height: .*timeout height", _SDK + "x/auth/ante/basic.go:213"),
        (r"maximum number of characters is ", _SDK + "x/auth/ante/basic.go:68"),
        (r"account .* does not exist: unknown address", _SDK + "x/auth/ante/sigverify.go:637"),
        (r"signatures: \d+, limit: ", _SDK + "x/auth/ante/sigverify.go:559"),
        (r"invalid number of signer;", _SDK + "x/auth/ante/sigverify.go:334"),
        (r"invalid gas supplied; ", _SDK + "types/tx/types.go:61"),
        (r"Invalid fee payer address ", _SDK + "types/tx/types.go:84"),
        (r"invalid fee amount: ", _SDK + "x/auth/ante/fee.go:132"),
        (r"hrp does not match bech32 prefix: ", _SDK + "codec/address/bech32_codec.go:37"),
        (r"no message handler found for ", _SDK + "baseapp/baseapp.go:908"),
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
        (r"invalid (?:amount|height): invalid request", _SDK + "x/staking/keeper/msg_server.go:472"),
        (r"commission rate must be between ", _SDK + "x/staking/keeper/msg_server.go:174"),
        (r"cannot set validator commission to less ", _SDK + "x/staking/keeper/msg_server.go:53"),
        (r"invalid [a-z ]+ length; got: ", _SDK + "x/staking/types/validator.go:237"),
        (r"proposal (?:title|summary) cannot be empty", _SDK + "x/gov/keeper/msg_server.go:33"),
        (r"either metadata or Msgs length", _SDK + "x/gov/keeper/msg_server.go:46"),
        (r"metadata (?:title|summary) ", _SDK + "x/gov/keeper/msg_server.go:54"),
        (r".*: expected gov account as only signer", _SDK + "x/gov/keeper/proposal.go:63"),
        (r".*: invalid proposal (?:content|message)", _SDK + "x/gov/keeper/proposal.go:190"),
        (r".*: proposal message not recognized by router", _SDK + "x/gov/keeper/proposal.go:69"),
        (r"was \(|received .* but need at least", _SDK + "x/gov/keeper/deposit.go:309"),
        (r"expiration must be after ", _SDK + "x/authz/authorization_grant.go:19"),
        (r"failed to delete grant with key ", _SDK + "x/authz/keeper/keeper.go:244"),
        (r"account .* already exists: invalid request", _VESTINGS + "keeper/msg_server_create_vesting_account.go:39"),
        (r".*: create wasm contract failed", _WASM + "keeper/keeper.go:194"),
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
        (r"invalid start time", _VESTINGS + "types/message_create_vesting_account.go:58"),
    )
)


def source_position(error: ChainError) -> str:
    """The bracketed place with a blank before it; nothing for errors the original never wraps."""
    if error.kind.codespace == "undefined" and not error.kind.description:
        return ""
    executed = _EXECUTED.match(error.log)
    text = error.log[executed.end() :] if executed else error.log
    if text == error.kind.description:
        # What was never wrapped has no place, but for the index of its message.
        return f" [{_BARE}]" if executed else ""
    place = next((place for pattern, place in _PLACES if pattern.match(text)), _ERRORS + "155")
    return f" [{place}]"
