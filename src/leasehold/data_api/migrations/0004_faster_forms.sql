-- The same texts in a fraction of the time: none of these is strict, so each becomes part of the query that calls it,
-- and none formats or raises to a power what PostgreSQL can print or look up.

CREATE OR REPLACE FUNCTION amount(value numeric) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN trim_scale(value)::text;

-- PostgreSQL prints as many digits of a second as there are; the wire has none, three or six.
CREATE OR REPLACE FUNCTION instant(moment timestamptz) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN replace((moment AT TIME ZONE 'UTC')::text, ' ', 'T') || CASE
        WHEN length((moment AT TIME ZONE 'UTC')::text) IN (19, 23, 26) THEN 'Z'
        WHEN length((moment AT TIME ZONE 'UTC')::text) IN (22, 25) THEN '0Z'
        ELSE '00Z'
    END;

CREATE OR REPLACE FUNCTION whole(units numeric, decimals integer) RETURNS numeric
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN round(units * CASE decimals
        WHEN 6 THEN 0.000001 WHEN 8 THEN 0.00000001 WHEN 18 THEN 0.000000000000000001
        ELSE power(10::numeric, -decimals)
    END, decimals);
