#!/usr/bin/env python3
"""Writes data.db, the database of the sandbox. The token of `admin` is replaced by a canary of the same length in each run."""

import os
import sqlite3

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data.db")
TOKEN = "canarycanarycanarycanary"

if os.path.exists(PATH):
    os.remove(PATH)
database = sqlite3.connect(PATH)
database.executescript(
    """
    PRAGMA page_size = 1024;
    CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL);
    CREATE TABLE accounts (id INTEGER PRIMARY KEY, name TEXT NOT NULL, token TEXT NOT NULL);
    """
)
database.executemany(
    "INSERT INTO notes (title, body) VALUES (?, ?)",
    [("Groceries", "milk, bread, apples"), ("Meeting", "Tuesday at ten"), ("Books", "three to return")],
)
database.executemany(
    "INSERT INTO accounts (name, token) VALUES (?, ?)",
    [("admin", TOKEN), ("guest", "guest")],
)
database.commit()
database.execute("VACUUM")
database.close()
