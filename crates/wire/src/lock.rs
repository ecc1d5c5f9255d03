//! A lock that outlives a panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A mutex for what no panic leaves half done: whatever happened to its last holder, the next one gets it.
#[derive(Debug, Default)]
pub struct Lock<T>(Mutex<T>);

impl<T> Lock<T> {
    /// A lock around a value.
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Waits until nobody else holds it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
