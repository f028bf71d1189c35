-- SPDX-License-Identifier: LGPL-2.1-or-later
-- SPDX-FileCopyrightText: 2026 The live-unwinder authors
--
-- queries.sql - the workload sqlite3: joins, recursion and window functions over @ROWS@ rows.

CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, kind INTEGER, price REAL);
CREATE TABLE sale (id INTEGER PRIMARY KEY, item INTEGER, amount INTEGER, day TEXT);
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < @ROWS@ / 4)
  INSERT INTO item SELECT i, 'item' || (i * 7919 % 10007), i % 17, i * 0.25 FROM n;
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < @ROWS@)
  INSERT INTO sale SELECT i, i * 7919 % (@ROWS@ / 4) + 1, i % 13,
    date ('2020-01-01', '+' || (i % 900) || ' days') FROM n;
CREATE INDEX sale_item ON sale (item);
SELECT kind, count (*), sum (amount * price) FROM sale JOIN item ON item.id = sale.item
  GROUP BY kind ORDER BY 3 DESC LIMIT 3;
SELECT max (running) FROM
  (SELECT sum (amount) OVER (PARTITION BY item ORDER BY day) AS running FROM sale);
SELECT count (DISTINCT name) FROM item WHERE name LIKE '%9%' AND name NOT IN
  (SELECT name FROM item WHERE kind = 3);
SELECT substr (day, 1, 7) AS month, sum (amount), group_concat (DISTINCT amount) FROM sale
  GROUP BY month ORDER BY 2 DESC LIMIT 3;
