"""Compiles the .proto files into the committed descriptor set: `python -m leasehold.chain.proto_build`."""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

from leasehold.core.errors import Unavailable

SOURCES = Path(__file__).parent / "proto"
TARGET = Path(__file__).parent / "descriptors.binpb"


def compile_descriptors() -> bytes:
    """Descriptor set of every .proto file with its imports, dependencies first."""
    try:
        protoc: Any = import_module("grpc_tools.protoc")
    except ImportError:
        raise Unavailable("grpcio-tools is not installed", hint="install the dev extra") from None
    bundled = Path(protoc.__file__).parent / "_proto"
    names = sorted(str(path.relative_to(SOURCES)) for path in SOURCES.rglob("*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "set.binpb"
        arguments = [f"-I{SOURCES}", f"-I{bundled}", "--include_imports", f"--descriptor_set_out={output}", *names]
        if protoc.main(["protoc", *arguments]) != 0:
            raise Unavailable("the .proto files don't compile", hint="protoc printed where")
        return output.read_bytes()


def main() -> None:
    """Writes the descriptor set and says how large it is."""
    data = compile_descriptors()
    TARGET.write_bytes(data)
    sys.stdout.write(f"{TARGET.name}: {len(data)} bytes\n")


if __name__ == "__main__":
    main()
