"""The LCD: REST routes derived from the query table's HTTP annotations."""
