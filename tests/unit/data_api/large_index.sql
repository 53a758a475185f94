-- {n} blocks of 6 seconds and half as many positions; a thousand accounts act in turn. One of them ({account}) acts in
-- every tenth block besides and owns every twenty-fifth position, so that its pages are full however small {n} is.
-- Of the contracts that are called one ({pool}) and {lease} are called all the time, others for a while.
-- Texts and amounts are as long and as varied as real ones; every thirtieth position is open.
CREATE FUNCTION pg_temp.who(n bigint) RETURNS text LANGUAGE sql IMMUTABLE RETURN 'chain1' || md5(n::text) || 'qqqqqq';
CREATE FUNCTION pg_temp.called(h bigint) RETURNS text LANGUAGE sql IMMUTABLE
    RETURN 'chain1' || left(encode(sha256((h / 500)::text::bytea), 'hex'), 58);
CREATE FUNCTION pg_temp.amount(n bigint) RETURNS numeric LANGUAGE sql IMMUTABLE
    RETURN (n * 7919 % 99999989)::numeric + (n * 104729 % 999983)::numeric / 1000000;
INSERT INTO indexer.protocols VALUES
    ('{protocol}', 'Osmosis', 'Osmosis', 'Long', 'USDC', 'USDC', 'USDC', 'l', '{pool}', 'o', 'p', 'r', true, '{start}', null, '{}');
INSERT INTO indexer.currencies VALUES ('USDC', 6, true, '{start}'), ('BTC', 8, true, '{start}');
INSERT INTO indexer.currency_protocols VALUES
    ('USDC', '{protocol}', 'lpn', 'ibc/1', 'd', 6), ('BTC', '{protocol}', 'lease', 'ibc/2', 'd', 8);
INSERT INTO indexer.cursor
    SELECT true, 'x', 1, {n}, '', '{start}'::timestamptz + {n} * interval '6 seconds',
        (extract(epoch FROM '{start}'::timestamptz + {n} * interval '6 seconds') * 1000000000)::bigint, {n}, {n}, {n}, 0;
INSERT INTO indexer.blocks SELECT h, sha256(h::text::bytea), '{start}'::timestamptz + h * interval '6 seconds', '', 1, 1
    FROM generate_series(1, {n}) h;
INSERT INTO indexer.txs SELECT h, 0, sha256(h::text::bytea), 0, 1, 1, 2500, 'ulsh', '', '{start}'::timestamptz + h * interval '6 seconds'
    FROM generate_series(1, {n}) h;
INSERT INTO indexer.messages SELECT h, 0, 0, 0, '/cosmos.bank.v1beta1.MsgSend',
    CASE h % 10 WHEN 0 THEN '{account}' ELSE pg_temp.who(h % 1000) END,
    CASE h % 6 WHEN 3 THEN '{pool}' WHEN 4 THEN CASE h % 7 WHEN 0 THEN '{lease}' ELSE pg_temp.called(h) END ELSE 'x' END,
    repeat('v', 120)::bytea, null FROM generate_series(1, {n}) h;
INSERT INTO indexer.account_messages SELECT sender, 1 + height % 6, height, 0, 0, 0 FROM indexer.messages;
INSERT INTO indexer.account_messages SELECT receiver, 1 + height % 6, height, 0, 0, 0 FROM indexer.messages WHERE receiver <> 'x';
INSERT INTO indexer.staking_activity SELECT height, 0, 0, 0, sender, CASE height % 20 WHEN 0 THEN 'withdraw' ELSE 'delegate' END,
    'v', null, 5, 'ulsh', 1, '{start}', '' FROM indexer.messages WHERE height % 5 = 0;
INSERT INTO indexer.stakers SELECT delegator, count(*), sum(amount), sum(usd), max(time) FROM indexer.staking_activity
    WHERE kind = 'withdraw' GROUP BY delegator;
INSERT INTO indexer.positions
    (lease, protocol, pool, owner, position_type, asset, lpn, status, requested_at, requested_ns, requested_height, requested_tx,
     opened_at, opened_height, opened_tx, downpayment, downpayment_ticker, downpayment_usd, loan, loan_usd, opened_amount, annual_rate,
     loan_rate, margin_rate, due_period_ns, max_ltv, amount, principal, interest_paid_ns, margin_paid_ns, closed_at, close_kind,
     collected, collected_usd, realized_pnl_usd, updated_at, updated_height, last_repaid_at, repaid_usd)
    SELECT CASE h WHEN 1 THEN '{lease}' ELSE 'chain1' || left(encode(sha256(h::text::bytea), 'hex'), 58) END, '{protocol}', '{pool}',
        CASE h % 25 WHEN 1 THEN '{account}' ELSE pg_temp.who(h % 1000) END, 'Long', 'BTC', 'USDC', CASE WHEN still THEN 'open' ELSE 'closed' END,
        t, 0, h, '', t, h, sha256(h::text::bytea), 5000000 + h, 'USDC', pg_temp.amount(h), 5000000 + h, pg_temp.amount(h + 1), h + 5, 100, 60, 40, 1, 900, 5, 5, 0, 0,
        CASE WHEN NOT still THEN t + interval '1 hour' END, CASE WHEN NOT still THEN 'repay' END,
        '[]', pg_temp.amount(h + 2), pg_temp.amount(h + 3), t + interval '1 hour', h, t + interval '1 hour', pg_temp.amount(h + 4)
    FROM generate_series(1, {n} / 2) h,
        LATERAL (SELECT '{start}'::timestamptz + h * interval '12.003 seconds' AS t, h % 30 = 2 OR h % 25 = 1 AND h > {n} / 2 - 250 AS still) x;
INSERT INTO indexer.position_events (height, tx, event, lease, owner, protocol, kind, time, tx_hash, payment, payment_ticker,
        payment_usd, principal_after, amount_after, interest_usd, margin_usd)
    SELECT opened_height * 5 + k, 0, 0, lease, owner, protocol, (ARRAY['open', 'repay', 'liquidation'])[k],
        opened_at + k * interval '1 second', sha256(lease::bytea), 5, 'USDC', pg_temp.amount(opened_height), 5, 5,
        pg_temp.amount(opened_height + k) / 1000, pg_temp.amount(opened_height + k + 7) / 1000
    FROM indexer.positions, generate_series(1, 3) k;
INSERT INTO indexer.hours SELECT '{start}'::timestamptz + h * interval '1 hour', h, 5, 5, 5, 5, 5, 5, 5, 5, 5 FROM generate_series(1, {n} / 600) h;
INSERT INTO indexer.pool_hours SELECT '{pool}', hour, '{protocol}', true, 5, 5, 5, 5, 1, 5, 5, 50, 60, 5, 5, 700 FROM indexer.hours;
INSERT INTO indexer.position_hours SELECT p.lease, h.hour, p.owner, p.protocol, 'BTC', 'USDC', 5, 5, 0, 0, 1, 1,
        60000.125, 1, pg_temp.amount(p.opened_height + 1), pg_temp.amount(p.opened_height + 2), pg_temp.amount(p.opened_height + 3),
        pg_temp.amount(p.opened_height + 4), pg_temp.amount(p.opened_height + 5)
    FROM indexer.positions p, indexer.hours h WHERE p.status = 'open' AND (h.hour > '{start}'::timestamptz + ({n} / 600 - 48) * interval '1 hour');
INSERT INTO indexer.account_hours SELECT CASE a WHEN 0 THEN '{account}' ELSE pg_temp.who(a) END, hour, 5, 3 FROM indexer.hours, generate_series(0, 20) a;
INSERT INTO indexer.pool_flows SELECT h * 3, 0, 1, CASE h % 2 WHEN 0 THEN 'deposit' ELSE 'withdraw' END, '{pool}', '{protocol}',
    pg_temp.who(h % 1000), 5, 'USDC', 5, 1, 5, false, '{start}'::timestamptz + h * interval '18 seconds', sha256((h * 3)::text::bytea)
    FROM generate_series(1, {n} / 3) h;
INSERT INTO indexer.lenders SELECT pg_temp.who(a), '{pool}', 5, 5, 0, 5, 0, 0, '{start}', '{start}' FROM generate_series(0, 999) a;
INSERT INTO indexer.lenders VALUES ('{account}', '{pool}', 5, 5, 0, 5, 0, 0, '{start}', '{start}');
INSERT INTO indexer.lease_signals SELECT opened_height, 0, 0, lease, owner, 'warning', 'BTC', 1, 850, null, opened_at, ''
    FROM indexer.positions;
INSERT INTO indexer.prices_current VALUES ('{protocol}', 'BTC', 60000, 1, '{start}'), ('{protocol}', 'USDC', 1, 1, '{start}');
INSERT INTO indexer.price_candles SELECT '{protocol}', t, m, '{start}'::timestamptz + s * m * interval '1 minute', 1, 1.5, 1, 1, 1
    FROM unnest(ARRAY['BTC', 'USDC']) t, unnest(ARRAY[1, 5, 60]) m, LATERAL generate_series(1, {n} / 10 / m) s;
INSERT INTO indexer.accounts SELECT pg_temp.who(a), 5, 5, 1, 5, 5, 1, 1, 1, 1, 1, '{start}' FROM generate_series(0, 999) a;
INSERT INTO indexer.accounts VALUES ('{account}', 5, 5, 1, 5, 5, 1, 1, 1, 1, 1, '{start}');
INSERT INTO indexer.totals SELECT n, 5, 5, '{start}' FROM unnest(ARRAY['tx_value', 'profit', 'rewards', 'realized_pnl']) n;
