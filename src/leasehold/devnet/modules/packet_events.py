"""Attributes of IBC packet events, in the order clients know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leasehold.devnet.modules.counterparty.networks import Packet

Attributes = list[tuple[str, str]]


def sent_attributes(packet: Packet, data: bytes, connection: str) -> Attributes:
    """Of `send_packet`."""
    destination = "transfer" if packet.kind == "transfer" else "icahost"
    return [
        ("packet_data_hex", data.hex()),
        ("packet_timeout_height", "0-0"),
        ("packet_timeout_timestamp", str(packet.timeout_ns)),
        ("packet_sequence", str(packet.sequence)),
        ("packet_src_port", packet.port),
        ("packet_src_channel", packet.channel),
        ("packet_dst_port", destination),
        ("packet_dst_channel", packet.channel),
        ("packet_channel_ordering", "ORDER_UNORDERED" if packet.kind == "transfer" else "ORDER_ORDERED"),
        ("packet_connection", connection),
        ("connection_id", connection),
    ]


def received_attributes(packet: Any, acknowledgement: bytes | None = None) -> Attributes:
    """Of packet events on receipt, acknowledgement and timeout; `packet_ack_hex` where there is an acknowledgement."""
    height = packet.timeout_height
    attributes = [
        ("packet_data_hex", packet.data.hex()),
        ("packet_timeout_height", f"{height.revision_number}-{height.revision_height}"),
        ("packet_timeout_timestamp", str(packet.timeout_timestamp)),
        ("packet_sequence", str(packet.sequence)),
        ("packet_src_port", packet.source_port),
        ("packet_src_channel", packet.source_channel),
        ("packet_dst_port", packet.destination_port),
        ("packet_dst_channel", packet.destination_channel),
    ]
    if acknowledgement is not None:
        attributes.append(("packet_ack_hex", acknowledgement.hex()))
    return attributes
