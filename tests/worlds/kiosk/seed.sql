INSERT INTO goods (id, name, price_cents, stock) VALUES (1, 'apple', 50, 10), (2, 'pear', 70, 4), (3, 'gum', 120, 0);
INSERT INTO sales (id, good_id, quantity, sold_at) VALUES (1, 1, 2, '2026-03-01 10:00:00');
