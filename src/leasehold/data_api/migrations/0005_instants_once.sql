-- The same text again, printed once instead of twice: how many digits are missing is told by the number, not the text.
CREATE OR REPLACE FUNCTION instant(moment timestamptz) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN replace((moment AT TIME ZONE 'UTC')::text, ' ', 'T') || CASE
        WHEN date_part('microseconds', moment AT TIME ZONE 'UTC')::bigint % 10 <> 0 THEN 'Z'
        WHEN date_part('microseconds', moment AT TIME ZONE 'UTC')::bigint % 1000000 = 0 THEN 'Z'
        WHEN date_part('microseconds', moment AT TIME ZONE 'UTC')::bigint % 100 <> 0 THEN '0Z'
        WHEN date_part('microseconds', moment AT TIME ZONE 'UTC')::bigint % 1000 <> 0 THEN '00Z'
        WHEN date_part('microseconds', moment AT TIME ZONE 'UTC')::bigint % 10000 <> 0 THEN 'Z'
        WHEN date_part('microseconds', moment AT TIME ZONE 'UTC')::bigint % 100000 <> 0 THEN '0Z'
        ELSE '00Z'
    END;
