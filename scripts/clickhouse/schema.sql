-- SPDX-License-Identifier: GPL-3.0-or-later
-- Tables for the rows of heapsh-export, for ClickHouse 18 and later:
--
--	clickhouse-client --multiquery < schema.sql
--
-- upgrade.sql adds the columns that tables of earlier releases lack.
--
-- What is loaded twice counts once, as soon as ClickHouse has merged its parts; until then
-- FINAL does it. Rows of objects and pointers are many; each day that they were loaded on is a
-- partition, which ALTER TABLE heapsh.object_rows DROP PARTITION '2026-11-21' takes away.

CREATE DATABASE IF NOT EXISTS heapsh;

CREATE TABLE IF NOT EXISTS heapsh.rows
(
    host String,
    program String,
    build_id String,     -- of the program itself, hexadecimal
    pid UInt32,
    started DateTime,    -- when the library was loaded: with host and pid, a process
    serial UInt32,       -- the process's snapshots count from 0
    snapshot String,     -- no other has it
    time DateTime,
    type String,         -- of an element; (untyped), (pool)
    site String,         -- function (file:line), or as much of that as is known
    module String,       -- whose code allocated it
    objects UInt64,
    bytes UInt64,
    retained UInt64,     -- what each of them holds alone, but for what is below another of them
    leaked UInt64,       -- of bytes: what no root reaches
    holder String DEFAULT '',      -- a path of names from a root to most of them; '': nothing holds them
    fingerprint String DEFAULT ''  -- of type, function and holder: the same in every process and build
)
ENGINE = ReplacingMergeTree()
PARTITION BY toYYYYMM(time)
ORDER BY (program, type, site, module, host, time, snapshot);

CREATE TABLE IF NOT EXISTS heapsh.object_rows
(
    snapshot String,
    address UInt64,
    type String,
    elements UInt64,
    size UInt64,
    site String,
    born DateTime,
    reach String,        -- start, interior: only by way of pointers into objects; leaked
    retained UInt64,
    loaded Date DEFAULT today()
)
ENGINE = ReplacingMergeTree()
PARTITION BY loaded
ORDER BY (snapshot, address);

CREATE TABLE IF NOT EXISTS heapsh.edge_rows
(
    snapshot String,
    source UInt64,       -- addresses, as in object_rows
    offset UInt64,       -- of the pointer in the source
    field String,
    target UInt64,
    interior UInt64,     -- bytes into the target
    typed UInt8,         -- 1: a pointer by the source's type
    loaded Date DEFAULT today()
)
ENGINE = ReplacingMergeTree()
PARTITION BY loaded
ORDER BY (snapshot, source, offset);
