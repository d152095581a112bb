CREATE TABLE goods (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    price_cents INTEGER NOT NULL CHECK (price_cents > 0),
    stock INTEGER NOT NULL CHECK (stock >= 0)
);
CREATE TABLE sales (
    id INTEGER PRIMARY KEY,
    good_id INTEGER NOT NULL REFERENCES goods (id),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    sold_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
