-- The thresholds that a liquidation for high liability names, in permille.
ALTER TABLE position_events ADD COLUMN ltv integer;
ALTER TABLE position_events ADD COLUMN ltv_healthy integer;

-- A vote split over several options: `option` is weighted, and these are [option, share] in the order given.
ALTER TABLE votes ADD COLUMN weights json;
