-- SPDX-License-Identifier: GPL-3.0-or-later
-- What nothing reaches any more, over all machines: by type and site, in the latest snapshots.

SELECT
    program,
    type,
    site,
    uniqExact(host) AS hosts,
    uniqExact(build_id) AS builds,
    sum(leaked) AS bytes
FROM heapsh.rows
FINAL
WHERE leaked > 0 AND (host, pid, started, serial) IN
(
    SELECT host, pid, started, max(serial)
    FROM heapsh.rows
    GROUP BY host, pid, started
)
GROUP BY program, type, site
ORDER BY bytes DESC, type, site
LIMIT 20
