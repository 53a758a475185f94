"""What the chain tells about its own types: cosmos.base.reflection, cosmos.reflection and cosmos.autocli."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leasehold.chain.interfaces import MSG, interfaces
from leasehold.devnet.app.application import ChainApplication
from leasehold.devnet.app.context import Context
from leasehold.devnet.app.errors import Status, StatusError

_V1BETA1 = "cosmos.base.reflection.v1beta1."
_V2ALPHA1 = "cosmos.base.reflection.v2alpha1."
_FILES = "cosmos.reflection.v1."
_AUTOCLI = "cosmos.autocli.v1."
# Named by options of messages, but no interfaces of their own on a real node.
_UNREGISTERED = {
    "cosmos.auth.v1beta1.ModuleAccountI",
    "ibc.applications.interchain_accounts.v1.InterchainAccountI",
}
# Messages of earlier versions: a real node still knows their names, but has neither definitions nor handlers for them.
_RETIRED = (
    *(
        f"/ibc.core.channel.v1.Msg{name}"
        for name in (
            "ChannelUpgradeAck",
            "ChannelUpgradeCancel",
            "ChannelUpgradeConfirm",
            "ChannelUpgradeInit",
            "ChannelUpgradeOpen",
            "ChannelUpgradeTimeout",
            "ChannelUpgradeTry",
            "PruneAcknowledgements",
            "UpdateParams",
        )
    ),
    "/{ns}.tax.v1beta1.MsgUpdateParams",
    "/{ns}.tax.v1beta1.QueryParamsRequest",
)
# The modes a real node names, though it verifies neither auxiliary nor textual signatures here.
_SIGN_MODES = (
    ("SIGN_MODE_EIP_191", 191),
    ("SIGN_MODE_DIRECT", 1),
    ("SIGN_MODE_DIRECT_AUX", 3),
    ("SIGN_MODE_LEGACY_AMINO_JSON", 127),
    ("SIGN_MODE_TEXTUAL", 2),
)


class ReflectionServices:
    """Interfaces, messages, services and files of the registry."""

    def __init__(self, app: ChainApplication) -> None:
        self._app = app
        self._registry = app.registry
        known = interfaces(app.registry).implementations
        retired = [name.replace("{ns}", app.identity.namespace) for name in _RETIRED]
        self._implementations = {
            name: sorted({*urls, *(retired if name == MSG else ())})
            for name, urls in known.items()
            if name not in _UNREGISTERED
        }

    def handlers(self) -> dict[str, Callable[[Context, Any], Any]]:
        v1beta1, v2alpha1 = f"/{_V1BETA1}ReflectionService/", f"/{_V2ALPHA1}ReflectionService/"
        return {
            v1beta1 + "ListAllInterfaces": self.all_interfaces,
            v1beta1 + "ListImplementations": self.implementations,
            v2alpha1 + "GetAuthnDescriptor": self.authn,
            v2alpha1 + "GetChainDescriptor": self.chain,
            v2alpha1 + "GetCodecDescriptor": self.codec,
            v2alpha1 + "GetConfigurationDescriptor": self.configuration,
            v2alpha1 + "GetQueryServicesDescriptor": self.query_services,
            v2alpha1 + "GetTxDescriptor": self.transactions,
            f"/{_FILES}ReflectionService/FileDescriptors": self.files,
            f"/{_AUTOCLI}Query/AppOptions": self.app_options,
        }

    def _new(self, name: str, **fields: Any) -> Any:
        return self._registry.new(name, **fields)

    def all_interfaces(self, ctx: Context, request: Any) -> Any:
        names = sorted(self._implementations)
        return self._new(_V1BETA1 + "ListAllInterfacesResponse", interface_names=names)

    def implementations(self, ctx: Context, request: Any) -> Any:
        if not request.interface_name:
            raise StatusError(Status.INVALID_ARGUMENT, "invalid interface name")
        found = self._implementations.get(request.interface_name, ())
        return self._new(_V1BETA1 + "ListImplementationsResponse", implementation_message_names=sorted(found))

    def authn(self, ctx: Context, request: Any) -> Any:
        modes = [{"name": name, "number": number} for name, number in _SIGN_MODES]
        return self._new(_V2ALPHA1 + "GetAuthnDescriptorResponse", authn={"sign_modes": modes})

    def chain(self, ctx: Context, request: Any) -> Any:
        return self._new(_V2ALPHA1 + "GetChainDescriptorResponse", chain={"id": self._app.chain_id})

    def codec(self, ctx: Context, request: Any) -> Any:
        listed = [
            {
                "fullname": interface,
                "interface_implementers": [
                    {"fullname": url.removeprefix("/"), "type_url": url} for url in sorted(urls)
                ],
            }
            for interface, urls in sorted(self._implementations.items())
        ]
        return self._new(_V2ALPHA1 + "GetCodecDescriptorResponse", codec={"interfaces": listed})

    def configuration(self, ctx: Context, request: Any) -> Any:
        prefix = {"bech32_account_address_prefix": self._app.identity.prefix}
        return self._new(_V2ALPHA1 + "GetConfigurationDescriptorResponse", config=prefix)

    def query_services(self, ctx: Context, request: Any) -> Any:
        """Services that were there when this one was made; the original marks none of them as a module's."""
        later = {_V2ALPHA1 + "ReflectionService", f"{self._app.identity.namespace}.transfer.Query"}
        services: dict[str, list[dict[str, str]]] = {}
        for path in sorted(self._app.queries.handlers):
            _, service, method = path.split("/")
            if service not in later:
                services.setdefault(service, []).append({"name": method, "full_query_path": path})
        listed = [{"fullname": name, "methods": methods} for name, methods in services.items()]
        return self._new(_V2ALPHA1 + "GetQueryServicesDescriptorResponse", queries={"query_services": listed})

    def transactions(self, ctx: Context, request: Any) -> Any:
        messages = [{"msg_type_url": url} for url in sorted(self._implementations[MSG])]
        tx = {"fullname": "cosmos.tx.v1beta1.Tx", "msgs": messages}
        return self._new(_V2ALPHA1 + "GetTxDescriptorResponse", tx=tx)

    def files(self, ctx: Context, request: Any) -> Any:
        response = self._new(_FILES + "FileDescriptorsResponse")
        for file in self._registry.files:
            # The registry has classes of its own for descriptors too.
            response.files.add().ParseFromString(file.SerializeToString())
        return response

    def app_options(self, ctx: Context, request: Any) -> Any:
        """Commands of the original's command line are not served: this chain has another."""
        return self._new(_AUTOCLI + "AppOptionsResponse")
