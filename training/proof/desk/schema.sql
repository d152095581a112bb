CREATE TABLE people (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE shelves (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE things (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    shelf_id INTEGER NOT NULL REFERENCES shelves (id),
    holder_id INTEGER REFERENCES people (id)
);
