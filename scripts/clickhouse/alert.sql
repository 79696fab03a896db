-- SPDX-License-Identifier: GPL-3.0-or-later
-- What to wake somebody for: holders whose bytes rise along a line in several processes, whatever
-- their build. Of each process and fingerprint the least-squares slope over its snapshots, and the
-- share of the variation that the line explains (the square of the correlation).

SELECT
    program,
    fingerprint,
    any(type) AS type,
    any(site) AS site,
    any(holder) AS holder,
    count() AS processes,
    uniqExact(host) AS hosts,
    arraySort(groupUniqArray(build_id)) AS builds,
    round(avg(slope * 3600)) AS bytes_an_hour,
    max(latest) AS most_bytes
FROM
(
    SELECT
        program, build_id, host, pid, started, fingerprint,
        any(type) AS type, any(site) AS site, any(holder) AS holder,
        covarPop(age, total) / varPop(age) AS slope,
        corr(age, total) AS fit,
        argMax(total, age) AS latest,
        count() AS snapshots
    FROM
    (
        -- Seconds since the process started: the squares of those since 1970 are too large.
        SELECT program, build_id, host, pid, started, fingerprint,
            toFloat64(time - started) AS age,
            any(type) AS type, any(site) AS site, any(holder) AS holder,
            toFloat64(sum(bytes)) AS total
        FROM heapsh.rows
        FINAL
        WHERE fingerprint != ''
        GROUP BY program, build_id, host, pid, started, age, fingerprint
    )
    GROUP BY program, build_id, host, pid, started, fingerprint
    HAVING snapshots >= 4 AND slope > 0 AND fit * fit >= 0.9
)
GROUP BY program, fingerprint
HAVING bytes_an_hour >= 1024
ORDER BY bytes_an_hour DESC, fingerprint
LIMIT 20
