//! Values that extractors captured.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// What the actors of a run have extracted so far. The last write wins.
#[derive(Debug, Default)]
pub struct Extracted {
    /// By `actor.name`.
    values: Mutex<HashMap<String, String>>,
}

impl Extracted {
    /// Keeps a value of an actor.
    pub fn set(&self, actor: &str, name: &str, value: String) {
        self.lock().insert(format!("{actor}.{name}"), value);
    }

    /// Everything that templates of an actor can refer to: `actor.name` of all, and `name` of its own.
    pub fn seen_by(&self, actor: &str) -> HashMap<String, String> {
        let mut seen = self.lock().clone();
        let own: Vec<_> = seen
            .iter()
            .filter_map(|(key, value)| {
                let name = key.strip_prefix(actor)?.strip_prefix('.')?;
                Some((name.to_owned(), value.clone()))
            })
            .collect();
        seen.extend(own);
        seen
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, String>> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_actor_sees_its_own_by_name_and_all_by_actor() {
        let extracted = Extracted::default();
        extracted.set("a", "token", "1".into());
        extracted.set("b", "token", "2".into());
        let seen = extracted.seen_by("a");
        assert_eq!((&*seen["token"], &*seen["a.token"], &*seen["b.token"]), ("1", "1", "2"));
    }
}
