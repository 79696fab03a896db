-- SPDX-License-Identifier: GPL-3.0-or-later
-- Which types grow, and on which hosts and builds: of each process the bytes of a type over its
-- snapshots; what grew in nearly every step is growth, what grew and stopped is a cache.

SELECT
    program,
    build_id,
    type,
    uniqExact(host) AS hosts,
    arraySort(groupUniqArray(host)) AS which,
    sum(grown) AS bytes,
    round(avg(grown / seconds * 3600)) AS bytes_an_hour
FROM
(
    SELECT
        host,
        program,
        build_id,
        type,
        count() AS snapshots,
        max(time) - min(time) AS seconds,
        argMax(total, time) - argMin(total, time) AS grown,
        arrayDifference(arrayMap(x -> x.2, arraySort(groupArray((time, total))))) AS steps
    FROM
    (
        SELECT host, program, build_id, pid, started, type, time, sum(bytes) AS total
        FROM heapsh.rows
        FINAL
        GROUP BY host, program, build_id, pid, started, type, time
    )
    GROUP BY host, program, build_id, pid, started, type
    HAVING snapshots >= 3 AND arrayCount(x -> x > 0, steps) * 10 >= (snapshots - 1) * 9
)
GROUP BY program, build_id, type
ORDER BY bytes DESC, type
LIMIT 20
