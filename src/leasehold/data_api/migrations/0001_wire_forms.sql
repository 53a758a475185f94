-- How values leave on the wire, so that JSON and CSV are made where the rows are.

-- An amount in plain notation, without trailing zeros; never an exponent.
CREATE FUNCTION amount(value numeric) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN trim_scale(value)::text;

-- RFC 3339 in UTC with no, three or six digits of a second.
CREATE FUNCTION instant(moment timestamptz) RETURNS text
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    RETURN CASE
        WHEN date_trunc('second', moment) = moment
            THEN to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
        WHEN date_trunc('milliseconds', moment) = moment
            THEN to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        ELSE to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
    END;

-- A base-unit amount in whole tokens.
CREATE FUNCTION whole(units numeric, decimals integer) RETURNS numeric
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN round(units * power(10::numeric, -decimals), decimals);

-- USD in the scale of a token, rounded: what clients divide by the token's power of ten.
CREATE FUNCTION scaled(usd numeric, decimals integer) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN round(usd * power(10::numeric, decimals))::text;
