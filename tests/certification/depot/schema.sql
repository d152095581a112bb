CREATE TABLE shelves (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);
CREATE TABLE parts (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    shelf_id INTEGER NOT NULL REFERENCES shelves (id),
    stock INTEGER NOT NULL CHECK (stock >= 0),
    note TEXT
);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    part_id INTEGER NOT NULL REFERENCES parts (id),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    status TEXT NOT NULL CHECK (status IN ('open', 'urgent', 'cancelled')),
    placed_at TEXT NOT NULL,
    due_at TEXT NOT NULL
);
