"""The gRPC server: the query table with reflection and health."""
