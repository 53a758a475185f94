"""Queries about codes and contracts, and the contracts' own answers."""

from __future__ import annotations

from typing import Any

from leasehold.chain.go_hex import decode_hex
from leasehold.core.addresses import predictable_contract_address
from leasehold.core.errors import InvalidInput
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import ChainError, PlainError, Status, StatusError
from leasehold.devnet.app.module import answers
from leasehold.devnet.app.pagination import page, page_of
from leasehold.devnet.app.panics import Panic
from leasehold.devnet.modules.wasm.codes import BYTECODE, PACKAGE, PINNED, Codes
from leasehold.devnet.modules.wasm.errors import INVALID, NO_SUCH_CODE, NO_SUCH_CONTRACT
from leasehold.devnet.modules.wasm.payloads import is_json
from leasehold.devnet.wasm import records
from leasehold.devnet.wasm.failures import WasmFailure

_PAGE_LIMIT = 100
_CHECKSUM = 32
_LONGEST_SALT = 64
_OPERATIONS = {"init": 1, "migrate": 2, "genesis": 3}


class Queries(Codes):
    """Answers."""

    def _paging(self, request: Any) -> Any:
        wanted = request.pagination
        if wanted.offset or wanted.count_total:
            raise StatusError(Status.INVALID_ARGUMENT, "offset and count queries not supported")
        limit = min(wanted.limit or _PAGE_LIMIT, _PAGE_LIMIT)
        return self.registry.new(
            "cosmos.base.query.v1beta1.PageRequest", key=wanted.key, limit=limit, reverse=wanted.reverse
        )

    def _code_id(self, code_id: int) -> int:
        if code_id == 0:
            raise INVALID("code id")
        return code_id

    def _code_info(self, ctx: Context, code_id: int, record: records.CodeRecord) -> Any:
        return self.new(
            PACKAGE + "CodeInfoResponse",
            code_id=code_id,
            creator=record.creator,
            data_hash=record.checksum,
            instantiate_permission=self.code_access(ctx, code_id),
        )

    def _known_code(self, ctx: Context, code_id: int) -> records.CodeRecord:
        record = records.code(ctx.store, self._code_id(code_id))
        if record is None:
            raise NO_SUCH_CODE(f"code id {code_id}")
        return record

    @answers(PACKAGE + "Query/Code")
    def query_code(self, ctx: Context, request: Any) -> Any:
        record = self._known_code(ctx, request.code_id)
        data = ctx.store.get(BYTECODE + record.checksum) or b""
        info = self._code_info(ctx, request.code_id, record)
        return self.new(PACKAGE + "QueryCodeResponse", code_info=info, data=data)

    @answers(PACKAGE + "Query/CodeInfo")
    def query_code_info(self, ctx: Context, request: Any) -> Any:
        record = self._known_code(ctx, request.code_id)
        return self.new(
            PACKAGE + "QueryCodeInfoResponse",
            code_id=request.code_id,
            creator=record.creator,
            checksum=record.checksum,
            instantiate_permission=self.code_access(ctx, request.code_id),
        )

    @answers(PACKAGE + "Query/Codes")
    def query_codes(self, ctx: Context, request: Any) -> Any:
        listed = [
            (code_id.to_bytes(8, "big"), self._code_info(ctx, code_id, record))
            for code_id, record in records.codes(ctx.store)
        ]
        items, result = page_of(listed, self._paging(request))
        return self.new(PACKAGE + "QueryCodesResponse", code_infos=items, pagination=self.page_response(result))

    @answers(PACKAGE + "Query/ContractInfo")
    def query_contract_info(self, ctx: Context, request: Any) -> Any:
        text, record = self._contract(ctx, request.address)
        info = self.new(
            PACKAGE + "ContractInfo",
            code_id=record.code_id,
            creator=record.creator,
            admin=record.admin,
            label=record.label,
            created=self.new(
                PACKAGE + "AbsoluteTxPosition",
                block_height=record.created_height,
                tx_index=record.created_tx_index,
            ),
            ibc2_port_id=f"wasm2{text.removeprefix(self.identity.prefix)}",
        )
        return self.new(PACKAGE + "QueryContractInfoResponse", address=text, contract_info=info)

    def _contract(self, ctx: Context, text: str) -> tuple[str, records.ContractRecord]:
        """The address of a contract as it is written, and the contract."""
        address = self.modules.auth.plain_address_bytes(text)
        written = self.modules.auth.text(address)
        record = records.contract(ctx.store, address)
        if record is None:
            raise NO_SUCH_CONTRACT(f"address {written}")
        return written, record

    @answers(PACKAGE + "Query/ContractHistory")
    def query_history(self, ctx: Context, request: Any) -> Any:
        address = self.modules.auth.plain_address_bytes(request.address)
        listed = []
        for index, entry in enumerate(records.history(ctx.store, address), start=1):
            updated = self.new(PACKAGE + "AbsoluteTxPosition", block_height=entry.height, tx_index=entry.tx_index)
            message = self.new(
                PACKAGE + "ContractCodeHistoryEntry",
                operation=_OPERATIONS[entry.operation],
                code_id=entry.code_id,
                updated=updated,
                msg=entry.msg,
            )
            listed.append((index.to_bytes(8, "big"), message))
        items, result = page_of(listed, self._paging(request))
        return self.new(PACKAGE + "QueryContractHistoryResponse", entries=items, pagination=self.page_response(result))

    @answers(PACKAGE + "Query/ContractsByCode")
    def query_contracts_by_code(self, ctx: Context, request: Any) -> Any:
        prefix = records.by_code_prefix(self._code_id(request.code_id))
        items, result = page(ctx, prefix, self._paging(request), lambda key, _: self.modules.auth.text(key[16:]))
        return self.new(
            PACKAGE + "QueryContractsByCodeResponse", contracts=items, pagination=self.page_response(result)
        )

    @answers(PACKAGE + "Query/ContractsByCreator")
    def query_contracts_by_creator(self, ctx: Context, request: Any) -> Any:
        paging = self._paging(request)
        creator = self.modules.auth.plain_address_bytes(request.creator_address)
        items, result = page(
            ctx,
            records.by_creator_prefix(creator),
            paging,
            lambda key, _: self.modules.auth.text(key[16:]),
        )
        return self.new(
            PACKAGE + "QueryContractsByCreatorResponse",
            contract_addresses=items,
            pagination=self.page_response(result),
        )

    @answers(PACKAGE + "Query/AllContractState")
    def query_all_state(self, ctx: Context, request: Any) -> Any:
        prefix = records.STORAGE + self.modules.auth.plain_address_bytes(request.address)
        paging = self._paging(request)
        self._contract(ctx, request.address)

        def model(key: bytes, value: bytes) -> Any:
            return self.new(PACKAGE + "Model", key=key, value=value)

        items, result = page(ctx, prefix, paging, model)
        return self.new(PACKAGE + "QueryAllContractStateResponse", models=items, pagination=self.page_response(result))

    @answers(PACKAGE + "Query/RawContractState")
    def query_raw(self, ctx: Context, request: Any) -> Any:
        contract, _ = self._contract(ctx, request.address)
        data = self.runtime.raw(ctx.overlay, contract, request.query_data)
        return self.new(PACKAGE + "QueryRawContractStateResponse", data=data or b"")

    @answers(PACKAGE + "Query/SmartContractState")
    def query_smart_state(self, ctx: Context, request: Any) -> Any:
        if not is_json(request.query_data):
            raise StatusError(Status.INVALID_ARGUMENT, "invalid query data")
        contract, _ = self._contract(ctx, request.address)
        try:
            data = self.query_smart(ctx, contract, request.query_data)
        except WasmFailure as failure:
            # The real node keeps the contract's text first here, unlike every other registered error.
            raise StatusError(Status.UNKNOWN, failure.text) from None
        return self.new(PACKAGE + "QuerySmartContractStateResponse", data=data)

    @answers(PACKAGE + "Query/PinnedCodes")
    def query_pinned(self, ctx: Context, request: Any) -> Any:
        items, result = page(ctx, PINNED, self._paging(request), lambda key, _: int.from_bytes(key, "big"))
        return self.new(PACKAGE + "QueryPinnedCodesResponse", code_ids=items, pagination=self.page_response(result))

    @answers(PACKAGE + "Query/Params")
    def query_params(self, ctx: Context, request: Any) -> Any:
        return self.new(PACKAGE + "QueryParamsResponse", params=self.params(ctx))

    @answers(PACKAGE + "Query/WasmLimitsConfig")
    def query_limits(self, ctx: Context, request: Any) -> Any:
        return self.new(PACKAGE + "QueryWasmLimitsConfigResponse", config="{}")

    @answers(PACKAGE + "Query/BuildAddress")
    def query_build_address(self, ctx: Context, request: Any) -> Any:
        checksum = _hex(request.code_hash, "code hash")
        try:
            creator = self.modules.auth.plain_address_bytes(request.creator_address)
        except PlainError as error:
            raise PlainError(f"invalid creator address: {error}") from None
        salt = _hex(request.salt, "salt")
        if not salt:
            raise StatusError(Status.INVALID_ARGUMENT, "empty salt")
        if request.init_args and not is_json(request.init_args):
            raise ChainError(INVALID)
        if len(checksum) != _CHECKSUM:
            raise Panic("invalid checksum")
        if len(salt) > _LONGEST_SALT:
            raise Panic(f"salt: cannot be longer than {_LONGEST_SALT} characters: exceeds limit")
        address = predictable_contract_address(checksum, creator, salt, request.init_args)
        return self.new(PACKAGE + "QueryBuildAddressResponse", address=self.modules.auth.text(address))


def _hex(text: str, what: str) -> bytes:
    try:
        return decode_hex(text)
    except InvalidInput as error:
        raise PlainError(f"invalid {what}: {error.message}") from None
