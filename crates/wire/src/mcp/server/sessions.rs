//! Sessions: who is who over HTTP, and the streams each can take up again.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::log::Log;
use crate::{Limits, Lock};

/// How many sessions are remembered. Some clients open one for every call and never end it, so the one that was
/// silent for longest gives way.
const MOST: usize = 1024;

/// How many streams of a session can be taken up again.
const STREAMS: usize = 64;

/// A peer that comes back under the same id.
#[derive(Debug)]
pub(super) struct Session<P> {
    /// A credential: whoever has it speaks for the peer. Never recorded.
    pub(super) id: String,
    pub(super) peer: Arc<P>,
    /// The stream of a client of the older transport, on which it is answered.
    pub(super) answers: Option<Arc<Log>>,
    streams: Lock<Streams>,
    used: AtomicU64,
    /// How many bytes all streams of the listener keep.
    kept: Arc<AtomicUsize>,
}

#[derive(Debug, Default)]
struct Streams {
    opened: u64,
    logs: VecDeque<Arc<Log>>,
}

impl<P> Session<P> {
    /// A new stream; on one that is `standalone` anything may be said.
    pub(super) fn stream(&self, limits: &Limits, standalone: bool) -> Arc<Log> {
        let mut streams = self.streams.lock();
        streams.opened += 1;
        let log = Log::resumable(streams.opened, standalone, limits, &self.kept);
        streams.logs.push_back(log.clone());
        if streams.logs.len() > STREAMS {
            // One that is over, and otherwise the oldest: whoever writes to it goes on, and nobody can come back.
            let gone = streams.logs.iter().position(|log| log.has_ended()).unwrap_or(0);
            streams.logs.remove(gone);
        }
        log
    }

    /// The stream that a client asks for by the id of the last event it has seen.
    pub(super) fn stream_numbered(&self, number: u64) -> Option<Arc<Log>> {
        self.streams.lock().logs.iter().find(|log| log.number() == number).cloned()
    }

    fn has_reader(&self) -> bool {
        self.answers.iter().chain(&self.streams.lock().logs).any(|log| log.has_reader())
    }

    fn logs(&self) -> Vec<Arc<Log>> {
        self.answers.iter().chain(&self.streams.lock().logs).cloned().collect()
    }
}

#[derive(Debug)]
pub(super) struct Sessions<P> {
    by_id: Lock<HashMap<String, Arc<Session<P>>>>,
    opened: AtomicU64,
    clock: AtomicU64,
    kept: Arc<AtomicUsize>,
}

impl<P> Default for Sessions<P> {
    fn default() -> Self {
        Self {
            by_id: Lock::default(),
            opened: AtomicU64::new(0),
            clock: AtomicU64::new(0),
            kept: Arc::default(),
        }
    }
}

impl<P> Sessions<P> {
    pub(super) fn name(&self) -> String {
        format!("session-{}", self.opened.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Remembers a peer under a new id; the second session, if any, had to give way. `None` when the system has no
    /// randomness, without which anyone could guess the id.
    pub(super) fn add(&self, peer: Arc<P>, answers: Option<Arc<Log>>) -> Option<Added<P>> {
        let id = unguessable()?;
        let used = AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed));
        let session = Arc::new(Session {
            id: id.clone(),
            peer,
            answers,
            streams: Lock::default(),
            used,
            kept: self.kept.clone(),
        });
        let mut by_id = self.by_id.lock();
        let evicted = if by_id.len() < MOST { None } else { evict(&mut by_id) };
        by_id.insert(id, session.clone());
        Some((session, evicted))
    }

    pub(super) fn get(&self, id: &str) -> Option<Arc<Session<P>>> {
        let session = self.by_id.lock().get(id).cloned()?;
        session.used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Some(session)
    }

    pub(super) fn remove(&self, id: &str) -> Option<Arc<Session<P>>> {
        let session = self.by_id.lock().remove(id)?;
        for log in session.logs() {
            log.end();
        }
        Some(session)
    }

    pub(super) fn stir(&self) {
        for log in self.logs() {
            log.stir();
        }
    }

    pub(super) fn end(&self) {
        for log in self.logs() {
            log.end();
        }
    }

    fn logs(&self) -> Vec<Arc<Log>> {
        let sessions: Vec<_> = self.by_id.lock().values().cloned().collect();
        sessions.iter().flat_map(|session| session.logs()).collect()
    }
}

/// A session that was added, and the one that gave way to it.
type Added<P> = (Arc<Session<P>>, Option<Arc<Session<P>>>);

/// Takes out the session that was silent for longest, preferably one on which nobody listens.
fn evict<P>(by_id: &mut HashMap<String, Arc<Session<P>>>) -> Option<Arc<Session<P>>> {
    let oldest =
        by_id.values().min_by_key(|session| (session.has_reader(), session.used.load(Ordering::Relaxed)));
    let id = oldest?.id.clone();
    let session = by_id.remove(&id)?;
    for log in session.logs() {
        log.end();
    }
    Some(session)
}

/// 128 bits that nobody can guess, in visible ASCII.
fn unguessable() -> Option<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).ok()?;
    Some(bytes.iter().fold(String::with_capacity(32), |mut id, byte| {
        // Writing to a string cannot fail.
        let _ = write!(id, "{byte:02x}");
        id
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_that_was_silent_for_longest_gives_way() {
        let sessions = Sessions::<()>::default();
        let first = sessions.add(Arc::new(()), None).unwrap().0;
        let second = sessions.add(Arc::new(()), None).unwrap().0;
        for _ in 2..MOST {
            assert!(sessions.add(Arc::new(()), None).unwrap().1.is_none());
        }
        assert!(sessions.get(&first.id).is_some());
        let evicted = sessions.add(Arc::new(()), None).unwrap().1.unwrap();
        assert_eq!(evicted.id, second.id);
        assert!(sessions.get(&second.id).is_none());
    }

    #[test]
    fn ids_are_long_and_never_the_same() {
        let ids: std::collections::HashSet<_> = (0..1000).map(|_| unguessable().unwrap()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 32));
    }

    #[test]
    fn a_session_does_not_keep_every_stream() {
        let sessions = Sessions::<()>::default();
        let session = sessions.add(Arc::new(()), None).unwrap().0;
        let first = session.stream(&Limits::default(), false);
        let second = session.stream(&Limits::default(), false);
        second.end();
        for _ in 2..=STREAMS {
            session.stream(&Limits::default(), false);
        }
        assert!(session.stream_numbered(first.number()).is_some());
        assert!(session.stream_numbered(second.number()).is_none());
    }
}
