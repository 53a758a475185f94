"""Names of the original's Go types, as its error texts show them."""

from __future__ import annotations

# The Go package of a protobuf package; most are called `types`.
_PACKAGES = {
    "cosmos.authz.v1beta1": "authz",
    "cosmos.base.query.v1beta1": "query",
    "cosmos.feegrant.v1beta1": "feegrant",
    "cosmos.gov.v1": "v1",
    "cosmos.gov.v1beta1": "v1beta1",
    "cosmos.tx.signing.v1beta1": "signing",
    "cosmos.tx.v1beta1": "tx",
}


def go_type(full_name: str) -> str:
    """Package and name of the type that stands for a message or an enum."""
    package, _, name = full_name.rpartition(".")
    return f"{_PACKAGES.get(package, 'types')}.{name}"
