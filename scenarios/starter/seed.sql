-- Written by `subworlds generate my_world --seed-rows` from generator.py: change it there.

INSERT INTO policy (section, text) VALUES
  ('Parts', 'Parts that went into a job are never taken out again. Such a job is finished and paid for; it is not cancelled.'),
  ('Cancelling', 'A customer may cancel an open job for nothing as long as no part went into it.'),
  ('One job at a time', 'A bike has one open job at most.'),
  ('Stock', 'Nobody promises a part that is not in stock.'),
  ('Collecting', 'A bike is handed over when its job is ready. Bikes are kept for 30 days, then we call.');

INSERT INTO parts (name, price_cents, stock) VALUES
  ('inner tube 26 inch', 650, 0),
  ('inner tube 28 inch', 700, 2),
  ('brake pads', 1250, 2),
  ('brake cable', 475, 12),
  ('chain 8-speed', 1890, 3),
  ('chain 11-speed', 3450, 0),
  ('front light', 2400, 12),
  ('rear light', 1650, 0),
  ('bell', 590, 8),
  ('pedals', 2995, 8),
  ('saddle', 4250, 12),
  ('bottle holder', 820, 3);

INSERT INTO customers (id, name, phone) VALUES
  (1, 'Anna Berg', '555-6917');

INSERT INTO bikes (id, customer_id, description) VALUES
  (1, 1, 'black folding bike'),
  (2, 1, 'black cargo bike');

INSERT INTO customers (id, name, phone) VALUES
  (2, 'Anna Bergman', '555-6105');

INSERT INTO bikes (id, customer_id, description) VALUES
  (3, 2, 'red folding bike'),
  (4, 2, 'green mountain bike');

INSERT INTO customers (id, name, phone) VALUES
  (3, 'Luca Moretti', '555-8693');

INSERT INTO bikes (id, customer_id, description) VALUES
  (5, 3, 'green road bike');

INSERT INTO customers (id, name, phone) VALUES
  (4, 'Luca Morel', '555-4497');

INSERT INTO bikes (id, customer_id, description) VALUES
  (6, 4, 'red road bike'),
  (7, 4, 'blue folding bike');

INSERT INTO customers (id, name, phone) VALUES
  (5, 'Priya Nair', '555-3715');

INSERT INTO bikes (id, customer_id, description) VALUES
  (8, 5, 'red road bike');

INSERT INTO customers (id, name, phone) VALUES
  (6, 'Tomasz Zielinski', '555-8152');

INSERT INTO bikes (id, customer_id, description) VALUES
  (9, 6, 'blue folding bike');

INSERT INTO customers (id, name, phone) VALUES
  (7, 'Grace Okafor', '555-8645');

INSERT INTO bikes (id, customer_id, description) VALUES
  (10, 7, 'black mountain bike'),
  (11, 7, 'green mountain bike'),
  (12, 7, 'red road bike');

INSERT INTO customers (id, name, phone) VALUES
  (8, 'Grace O''Connell', '555-1600');

INSERT INTO bikes (id, customer_id, description) VALUES
  (13, 8, 'red cargo bike');

INSERT INTO customers (id, name, phone) VALUES
  (9, 'Mehmet Demir', '555-2679');

INSERT INTO bikes (id, customer_id, description) VALUES
  (14, 9, 'red folding bike'),
  (15, 9, 'yellow road bike');

INSERT INTO customers (id, name, phone) VALUES
  (10, 'Sofia Lindqvist', '555-4484');

INSERT INTO bikes (id, customer_id, description) VALUES
  (16, 10, 'black cargo bike'),
  (17, 10, 'blue cargo bike');

INSERT INTO customers (id, name, phone) VALUES
  (11, 'Noah Weiss', '555-4179');

INSERT INTO bikes (id, customer_id, description) VALUES
  (18, 11, 'yellow mountain bike');

INSERT INTO customers (id, name, phone) VALUES
  (12, 'Noah Weisz', '555-2711');

INSERT INTO bikes (id, customer_id, description) VALUES
  (19, 12, 'yellow folding bike');

INSERT INTO customers (id, name, phone) VALUES
  (13, 'Yuki Tanaka', '555-9915');

INSERT INTO bikes (id, customer_id, description) VALUES
  (20, 13, 'black cargo bike');

INSERT INTO customers (id, name, phone) VALUES
  (14, 'Omar Haddad', '555-3647');

INSERT INTO bikes (id, customer_id, description) VALUES
  (21, 14, 'yellow mountain bike');

INSERT INTO customers (id, name, phone) VALUES
  (15, 'Elena Petrova', '555-7055');

INSERT INTO bikes (id, customer_id, description) VALUES
  (22, 15, 'blue mountain bike'),
  (23, 15, 'red cargo bike');

INSERT INTO customers (id, name, phone) VALUES
  (16, 'Hugo Martins', '555-5409');

INSERT INTO bikes (id, customer_id, description) VALUES
  (24, 16, 'blue cargo bike'),
  (25, 16, 'green folding bike');

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (1, 1, 'a wobbly wheel', 'ready', '2025-12-25', '2025-12-28');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (1, 12, 1),
  (1, 1, 1);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (2, 2, 'a flat tyre', 'collected', '2025-12-27', '2025-12-30');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (2, 2, 2);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (3, 2, 'new brakes', 'open', '2026-02-27', '2026-03-02');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (3, 5, 1);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (4, 3, 'new lights', 'collected', '2026-02-04', '2026-02-07');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (4, 2, 2),
  (4, 3, 1);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (5, 3, 'a wobbly wheel', 'open', '2026-03-01', '2026-03-04');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (5, 9, 2),
  (5, 2, 2);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (6, 4, 'a slipping chain', 'open', '2026-02-25', '2026-02-28'),
  (7, 5, 'a wobbly wheel', 'ready', '2026-01-20', '2026-01-23');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (7, 12, 1);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (8, 6, 'the yearly service', 'ready', '2026-02-17', '2026-02-20');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (8, 6, 2),
  (8, 10, 1);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (9, 7, 'new brakes', 'ready', '2026-02-14', '2026-02-17');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (9, 12, 2),
  (9, 10, 1);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (10, 8, 'new brakes', 'collected', '2025-12-06', '2025-12-09');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (10, 12, 1),
  (10, 8, 2);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (11, 9, 'new brakes', 'open', '2026-02-27', '2026-03-02');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (11, 4, 2),
  (11, 8, 2);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (12, 10, 'a slipping chain', 'cancelled', '2025-12-26', '2025-12-29'),
  (13, 10, 'a flat tyre', 'open', '2026-02-27', '2026-03-02'),
  (14, 11, 'new lights', 'cancelled', '2025-12-07', '2025-12-10'),
  (15, 11, 'the yearly service', 'open', '2026-02-27', '2026-03-02');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (15, 12, 1),
  (15, 5, 1);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (16, 12, 'a flat tyre', 'collected', '2026-01-16', '2026-01-19');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (16, 10, 1),
  (16, 5, 1);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (17, 13, 'a flat tyre', 'ready', '2025-12-26', '2025-12-29');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (17, 12, 2);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (18, 14, 'new lights', 'collected', '2026-01-12', '2026-01-15');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (18, 5, 2),
  (18, 4, 1);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (19, 15, 'a slipping chain', 'ready', '2026-02-12', '2026-02-15'),
  (20, 16, 'a slipping chain', 'open', '2026-02-25', '2026-02-28');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (20, 3, 1);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (21, 17, 'the yearly service', 'cancelled', '2026-01-24', '2026-01-27'),
  (22, 17, 'a flat tyre', 'open', '2026-03-01', '2026-03-04');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (22, 8, 2),
  (22, 3, 1);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (23, 18, 'the yearly service', 'collected', '2025-12-10', '2025-12-13');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (23, 7, 1),
  (23, 4, 1);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (24, 18, 'a wobbly wheel', 'open', '2026-02-27', '2026-03-02'),
  (25, 19, 'a flat tyre', 'cancelled', '2025-12-21', '2025-12-24'),
  (26, 19, 'new lights', 'open', '2026-02-25', '2026-02-28');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (26, 8, 1);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (27, 20, 'a flat tyre', 'ready', '2026-01-06', '2026-01-09');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (27, 9, 2),
  (27, 6, 2);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (28, 21, 'a flat tyre', 'cancelled', '2026-02-12', '2026-02-15'),
  (29, 21, 'new brakes', 'open', '2026-02-25', '2026-02-28'),
  (30, 22, 'new brakes', 'cancelled', '2025-12-03', '2025-12-06'),
  (31, 22, 'a flat tyre', 'open', '2026-02-27', '2026-03-02'),
  (32, 23, 'new lights', 'collected', '2026-01-15', '2026-01-18');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (32, 7, 2);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (33, 23, 'a slipping chain', 'open', '2026-02-28', '2026-03-03');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (33, 5, 2);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (34, 24, 'a flat tyre', 'collected', '2026-01-20', '2026-01-23');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (34, 9, 1);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (35, 24, 'new brakes', 'open', '2026-02-25', '2026-02-28');

INSERT INTO job_parts (job_id, part_id, quantity) VALUES
  (35, 5, 2),
  (35, 11, 1);

INSERT INTO jobs (id, bike_id, work, status, booked_on, due_on) VALUES
  (36, 25, 'new lights', 'collected', '2026-02-14', '2026-02-17'),
  (37, 25, 'the yearly service', 'open', '2026-02-26', '2026-03-01');
