"""What the contracts of a sub-protocol say of their package, and how a migration checks it."""

from __future__ import annotations

from typing import ClassVar

from leasehold.devnet.contracts.build import ProtocolBuild
from leasehold.devnet.contracts.native import software_release
from leasehold.protocol.errors import Refused
from leasehold.protocol.messages.values import PackageRelease, ProtocolName, ProtocolRelease, ReleaseId
from leasehold.protocol.serde import Codec, Empty, Wire


class Migration(Wire, frozen=True):
    """How a contract of a sub-protocol is told to migrate."""

    rust_name: ClassVar[str] = "MigrationMessage"
    migrate_from: PackageRelease
    to_release: ReleaseId
    message: Empty


def protocol_release(build: ProtocolBuild, name: str, version: str, storage: int) -> PackageRelease:
    """The answer to `protocol_package_release`."""
    return PackageRelease(
        software_release(build.release, name, version, storage),
        ProtocolRelease(build.release, ProtocolName(build.name, build.network)),
    )


def check_migration(codec: Codec, current: PackageRelease, msg: bytes) -> None:
    """Refuse a migration that aims at another release, comes from another package, or goes back."""
    migration = codec.decode(Migration, msg)
    aimed, before, now = migration.to_release, migration.migrate_from, current
    if now.protocol.id != aimed.protocol:
        raise _refused(
            "The protocol release does not match the currently migration target! The current protocol's release is"
            f' "{now.protocol.id}", the release being migrated to is "{aimed.protocol}".'
        )
    if now.software.id != aimed.software:
        raise _refused(
            "The package release does not match the currently migration target! The current package's release is"
            f' "{now.software.id}", the release being migrated to is "{aimed.software}".'
        )
    if before.software.code.name != now.software.code.name:
        raise _refused(
            f'The package names do not match! The current package is "{before.software.code.name}", the new package'
            f' is "{now.software.code.name}".'
        )


def _refused(text: str) -> Refused:
    return Refused(f"Failed to update software! Cause: [Versioning] {text}")
