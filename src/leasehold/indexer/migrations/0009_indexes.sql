-- Notifications are taken in the order they were queued.
DROP INDEX outbox_due;
CREATE INDEX outbox_waiting ON outbox (id) WHERE delivered_at IS NULL;
-- The block of an instant is found by halving: heights and times grow together.
DROP INDEX blocks_by_time;
