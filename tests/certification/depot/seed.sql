INSERT INTO shelves (id, name) VALUES (11, 'North'), (12, 'East'), (13, 'South'), (14, 'West');
INSERT INTO parts (id, name, shelf_id, stock, note) VALUES
    (101, 'bolt', 11, 40, NULL), (102, 'nut', 11, 60, 'metric'), (103, 'gear', 12, 7, NULL),
    (104, 'chain', 13, 3, NULL), (105, 'spring', 14, 25, 'soft'), (106, 'valve', 12, 9, NULL);
INSERT INTO orders (id, part_id, quantity, status, placed_at, due_at) VALUES
    (501, 103, 5, 'open', '2026-02-20T10:00:00', '2026-03-06T10:00:00'),
    (502, 104, 2, 'urgent', '2026-02-27T16:30:00', '2026-03-03T16:30:00'),
    (503, 101, 100, 'cancelled', '2026-01-11T08:00:00', '2026-01-25T08:00:00');
