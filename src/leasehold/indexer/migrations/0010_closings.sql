-- In the order in which closings are shown, so that a page of them is read and nothing more.
DROP INDEX positions_closed_by_owner;
CREATE INDEX positions_closed_by_owner ON positions (owner, closed_at DESC, lease) WHERE closed_at IS NOT NULL;
