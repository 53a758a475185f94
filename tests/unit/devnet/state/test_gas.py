"""Gas is charged as the chain's stores charge it."""

from __future__ import annotations

import pytest

from leasehold.devnet.state.gas import GasMeter, MeteredStore, OutOfGas
from leasehold.devnet.state.store import OrderedMap


def test_each_access_has_its_price() -> None:
    """Reads cost 1000 and 3 a byte, writes 2000 and 30 a byte, deletes 1000, steps of an iterator 30 and bytes."""
    meter = GasMeter()
    store = MeteredStore(OrderedMap(), meter)
    store.set(b"key", b"value")
    assert meter.used == 2000 + 30 * 8
    store.get(b"key")
    assert meter.used == 2240 + 1000 + 3 * 8
    list(store.iterate())
    assert meter.used == 3264 + 30 + 3 * 8
    store.delete(b"key")
    assert meter.used == 3318 + 1000


def test_running_out_names_where() -> None:
    """The access that passes the limit raises with its location, the limit and what was used."""
    meter = GasMeter(1000)
    store = MeteredStore(OrderedMap(), meter)
    with pytest.raises(OutOfGas) as caught:
        store.get(b"k")
    assert (caught.value.location, caught.value.limit, caught.value.used) == ("ReadPerByte", 1000, 1003)
