"""Run inside the client's own environment: writes every definition it carries as one descriptor set to a file."""

import importlib
import pkgutil
import sys
import warnings
from pathlib import Path

import cosmpy.protos
from google.protobuf import descriptor_pb2


def main(target: str) -> None:
    """Import each generated module and collect the file it was generated from."""
    # The client's own generated modules complain about their age.
    warnings.simplefilter("ignore")
    collected = descriptor_pb2.FileDescriptorSet()
    for module in pkgutil.walk_packages(cosmpy.protos.__path__, "cosmpy.protos."):
        if module.name.endswith("_pb2"):
            importlib.import_module(module.name).DESCRIPTOR.CopyToProto(collected.file.add())
    Path(target).write_bytes(collected.SerializeToString())


if __name__ == "__main__":
    main(sys.argv[1])
