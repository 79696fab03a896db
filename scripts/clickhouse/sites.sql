-- SPDX-License-Identifier: GPL-3.0-or-later
-- Where in the code what a type has grown by was allocated, builds compared: the mean of each
-- site's bytes in the processes' last snapshots.

SELECT
    program,
    type,
    site,
    build_id,
    uniqExact(host, pid, started) AS processes,
    round(avg(bytes)) AS mean_bytes,
    max(bytes) AS most_bytes,
    round(avg(objects)) AS mean_objects
FROM heapsh.rows
FINAL
WHERE (host, pid, started, serial) IN
(
    SELECT host, pid, started, max(serial)
    FROM heapsh.rows
    GROUP BY host, pid, started
)
GROUP BY program, type, site, build_id
ORDER BY mean_bytes DESC, type, site, build_id
LIMIT 50
