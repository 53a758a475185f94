-- What was read from the chain besides blocks, so that a rebuild needs no node. kind: discovery, seeds, amounts.
CREATE TABLE lookups (
    height bigint NOT NULL,
    kind text NOT NULL,
    content json NOT NULL,
    PRIMARY KEY (height, kind)
);

-- Counts rebuilds: a writer that remembers another generation loads its state again.
ALTER TABLE cursor ADD COLUMN generation integer NOT NULL DEFAULT 0;
