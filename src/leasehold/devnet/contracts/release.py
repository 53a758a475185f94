"""What the contracts of a sub-protocol say of their package, and how a migration checks it."""

from __future__ import annotations

from leasehold.devnet.contracts.build import ProtocolBuild
from leasehold.devnet.contracts.native import software_release
from leasehold.protocol.messages.values import PackageRelease, ProtocolName, ProtocolRelease


def protocol_release(build: ProtocolBuild, name: str, version: str, storage: int) -> PackageRelease:
    """The answer to `protocol_package_release`."""
    return PackageRelease(
        software_release(build.release, name, version, storage),
        ProtocolRelease(build.release, ProtocolName(build.name, build.network)),
    )
