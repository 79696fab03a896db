-- SPDX-License-Identifier: GPL-3.0-or-later
-- Adds the columns of holders to heapsh.rows of an earlier release. Run it once.

ALTER TABLE heapsh.rows ADD COLUMN holder String DEFAULT '' AFTER leaked;
ALTER TABLE heapsh.rows ADD COLUMN fingerprint String DEFAULT '' AFTER holder;
