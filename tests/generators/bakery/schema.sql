CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, since TEXT NOT NULL);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customers (id),
    "order" TEXT NOT NULL,
    loaves INTEGER NOT NULL CHECK (loaves > 0),
    cancelled INTEGER NOT NULL DEFAULT 0
);
