-- The same text five times faster: a function that is not strict can become part of the query that calls it.
CREATE OR REPLACE FUNCTION instant(moment timestamptz) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE
        WHEN date_trunc('milliseconds', moment AT TIME ZONE 'UTC') <> moment AT TIME ZONE 'UTC'
            THEN to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
        WHEN date_trunc('second', moment AT TIME ZONE 'UTC') <> moment AT TIME ZONE 'UTC'
            THEN to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        ELSE to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
    END;
