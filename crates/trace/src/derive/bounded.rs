//! A memory that forgets the oldest first.

use std::collections::{BTreeMap, HashMap};

use crate::record::Message;

/// What is remembered under: an id of the peer's, on one connection of one actor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) actor: String,
    pub(super) connection: String,
    pub(super) id: String,
}

impl Key {
    pub(super) fn new(message: &Message, id: String) -> Self {
        Self { actor: message.actor.clone(), connection: message.connection.clone(), id }
    }

    fn bytes(&self) -> usize {
        self.actor.len() + self.connection.len() + self.id.len()
    }
}

#[derive(Clone, Debug)]
struct Entry<T> {
    value: T,
    bytes: usize,
    age: u64,
}

/// So many values, and so many bytes of them.
#[derive(Clone, Debug)]
pub(super) struct Bounded<T> {
    entries: HashMap<Key, Entry<T>>,
    order: BTreeMap<u64, Key>,
    bytes: usize,
    born: u64,
    max_entries: usize,
    max_bytes: usize,
}

impl<T> Bounded<T> {
    pub(super) fn new(max_entries: usize, max_bytes: usize) -> Self {
        Self { entries: HashMap::new(), order: BTreeMap::new(), bytes: 0, born: 0, max_entries, max_bytes }
    }

    /// Remembers a value of that many bytes, and says how many were forgotten for it. One that is too large for all the
    /// room there is, is itself forgotten at once.
    pub(super) fn insert(&mut self, key: Key, value: T, bytes: usize) -> usize {
        self.remove(&key);
        self.born += 1;
        // The key is held twice.
        let bytes = bytes + 2 * key.bytes();
        self.bytes += bytes;
        self.order.insert(self.born, key.clone());
        self.entries.insert(key, Entry { value, bytes, age: self.born });
        self.forget()
    }

    pub(super) fn get(&self, key: &Key) -> Option<&T> {
        self.entries.get(key).map(|entry| &entry.value)
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<T> {
        let entry = self.entries.remove(key)?;
        self.order.remove(&entry.age);
        self.bytes -= entry.bytes;
        Some(entry.value)
    }

    fn forget(&mut self) -> usize {
        let mut forgotten = 0;
        while self.entries.len() > self.max_entries || self.bytes > self.max_bytes {
            let Some((_, oldest)) = self.order.first_key_value() else { break };
            let oldest = oldest.clone();
            self.remove(&oldest);
            forgotten += 1;
        }
        forgotten
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        assert_eq!(self.entries.len(), self.order.len());
        self.entries.len()
    }
}
