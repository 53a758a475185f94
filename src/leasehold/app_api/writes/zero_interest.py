"""Zero interest: announce a payment and take it back; the payments manager decides."""

from __future__ import annotations

from urllib.parse import quote

import msgspec

from leasehold.app_api.app import App
from leasehold.app_api.upstreams.payments import PaymentResponse
from leasehold.app_api.writes import checks
from leasehold.core.errors import InvalidInput, NotFound
from leasehold.serving.routes import NoParams, Registry, Reply, Request


class CreatePaymentRequest(msgspec.Struct):
    """`amount` in base units of `denom`; the signature is passed on as it is."""

    lease_address: str
    amount: str
    denom: str
    owner_address: str
    signature: str


class CreatePaymentResponse(msgspec.Struct):
    payment: PaymentResponse
    tx_hash: str | None = None


class CancelPaymentRequest(msgspec.Struct):
    owner_address: str
    signature: str


class PaymentParams(msgspec.Struct, frozen=True):
    payment_id: str


def signed(signature: str) -> None:
    """Refuse what bears no signature; what it must be over is the payments manager's business."""
    if not signature.strip():
        raise InvalidInput("signature is required", field="signature")


def declare(api: Registry, app: App) -> None:
    """The write routes of zero interest."""
    tags = ("zero-interest",)
    path = "zero-interest/payments"

    @api.post(f"/api/{path}", summary="Announce a payment", tags=tags, operation_id="create_payment", errors=(400, 502))
    async def create(request: Request[NoParams, CreatePaymentRequest]) -> CreatePaymentResponse:
        asked = request.body
        checks.lease(app, asked.lease_address)
        checks.wallet(app, asked.owner_address, "owner_address")
        checks.amount(asked.amount)
        signed(asked.signature)
        transport = app.upstreams.payments.transport
        answer = await transport.ask("POST", f"/{path}", context=path, body=asked)
        if not answer.good:
            raise transport.refused(answer, path)
        return transport.decode(answer.body, CreatePaymentResponse, path)

    @api.delete(
        f"/api/{path}/{{payment_id}}",
        summary="Take a payment back",
        tags=tags,
        operation_id="cancel_payment",
        errors=(400, 404, 502),
        produces=(),
    )
    async def cancel(request: Request[PaymentParams, CancelPaymentRequest]) -> Reply:
        checks.wallet(app, request.body.owner_address, "owner_address")
        signed(request.body.signature)
        transport = app.upstreams.payments.transport
        target = f"{path}/{quote(request.params.payment_id, safe='')}"
        answer = await transport.ask("DELETE", f"/{target}", context=target, body=request.body)
        if answer.status == 404:
            raise NotFound(f"Payment {request.params.payment_id} not found")
        if not answer.good:
            raise transport.refused(answer, target)
        # Nothing is needed of the body, but what is no JSON does not come from a payments manager.
        if answer.body:
            transport.decode(answer.body, msgspec.Raw, "cancel")
        return Reply(body=b"")
