//! The file of exchanges, and who may write to it.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use thiserror::Error;

use super::difference::{Miss, Near};
use super::file::{ExchangeOutcome, FORMAT_VERSION, Line};
use super::key::{Digest, Key};
use super::log::Log;

/// What a store does when it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeMode {
    /// Asks, and records what was said. With `reuse`, what an earlier run recorded is taken instead.
    Live {
        /// Whether answers of earlier runs count.
        reuse: bool,
    },
    /// Takes what was recorded, and never asks.
    Replay,
}

/// How large a store may get.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of one exchange. 64 MiB: an answer of a target may have eight, and stands in it three times.
    pub exchange_bytes: usize,
    /// Bytes of all exchanges. 2 GiB.
    pub file_bytes: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { exchange_bytes: 64 << 20, file_bytes: 2 << 30 }
    }
}

/// A store cannot be opened, read or written.
#[derive(Debug, Error)]
pub enum ExchangeError {
    /// The system refuses.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another run writes to it.
    #[error("{} is in use by another run", .0.display())]
    InUse(PathBuf),
    /// Not a file of exchanges.
    #[error("{} is not a file of exchanges", .0.display())]
    Foreign(PathBuf),
    /// Written by another version.
    #[error("{} has version {version}, and this is version {FORMAT_VERSION}; record it again", path.display())]
    Version {
        /// Which file.
        path: PathBuf,
        /// What it says.
        version: u32,
    },
    /// A line is not one that was written whole.
    #[error("{}:{line} is not an exchange", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// Which line, from 1.
        line: usize,
    },
    /// An exchange is too large to be kept.
    #[error("an exchange of {bytes} bytes is larger than the {bound} that are kept")]
    TooLarge {
        /// How large.
        bytes: usize,
        /// How large it may be.
        bound: usize,
    },
    /// There is no room left.
    #[error("{} would be larger than {bound} bytes", path.display())]
    Full {
        /// Which file.
        path: PathBuf,
        /// How large it may be.
        bound: u64,
    },
    /// Not recorded.
    #[error("{0}")]
    Missing(Box<Miss>),
}

/// An exchange's outcome and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchanged {
    /// What was said.
    pub outcome: ExchangeOutcome,
    /// Where it comes from.
    pub source: ExchangeSource,
}

/// Where an outcome comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeSource {
    /// It was just said.
    Live,
    /// It was recorded earlier, and this run had not seen it yet.
    Recorded,
    /// This run has it already.
    Repeated,
}

/// Exchanges with models. Clones share it.
///
/// Within one run equal keys have one exchange: whoever asks second waits and gets what the first one got. So a replay, in
/// which there is only one to be had, says the same.
#[derive(Clone, Debug)]
pub struct Exchanges(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    mode: ExchangeMode,
    bounds: Bounds,
    /// Without one nothing is kept.
    log: Option<Mutex<Log>>,
    /// Whose answers are used again, and which learns new ones.
    cache: Option<Exchanges>,
    /// How far the file is on the disk, and the handle that takes it there.
    synced: Mutex<(u64, Option<File>)>,
    /// One lock for each key that this run has asked about.
    asking: Mutex<HashMap<Digest, Arc<tokio::sync::Mutex<bool>>>>,
}

impl Exchanges {
    /// Keeps nothing: every exchange is a live one.
    pub fn transient() -> Self {
        Self::new(ExchangeMode::Live { reuse: false }, Bounds::default(), None, None)
    }

    fn new(mode: ExchangeMode, bounds: Bounds, log: Option<(Log, File)>, cache: Option<Self>) -> Self {
        let (log, handle) = log.unzip();
        let (log, synced) = (log.map(Mutex::new), Mutex::new((0, handle)));
        Self(Arc::new(Shared { mode, bounds, log, cache, synced, asking: Mutex::default() }))
    }

    /// Opens a file of exchanges, or begins one when it is to be written.
    ///
    /// A last line that was not written whole is what a crash leaves: it is cut off. Any other damage is an error.
    pub fn open(path: impl AsRef<Path>, mode: ExchangeMode, bounds: Bounds) -> Result<Self, ExchangeError> {
        Self::open_with(path, mode, bounds, None)
    }

    /// The same, with a cache that several runs share. Answers that it has are used again and recorded here too, so that
    /// the run can be replayed without it; answers that are new are recorded in both. A replay does not look at it.
    pub fn open_with(
        path: impl AsRef<Path>,
        mode: ExchangeMode,
        bounds: Bounds,
        cache: Option<Self>,
    ) -> Result<Self, ExchangeError> {
        let path = path.as_ref().to_owned();
        let io = |source| ExchangeError::Io { path: path.clone(), source };
        let live = matches!(mode, ExchangeMode::Live { .. });
        let file = OpenOptions::new().read(true).append(live).create(live).open(&path).map_err(io)?;
        let locked = if live { file.try_lock() } else { file.try_lock_shared() };
        match locked {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(ExchangeError::InUse(path)),
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        if file.metadata().map_err(io)?.len() > bounds.file_bytes {
            return Err(ExchangeError::Full { path, bound: bounds.file_bytes });
        }
        let log = Log::read(path, file, live, &bounds)?;
        let handle = log.handle()?;
        Ok(Self::new(mode, bounds, Some((log, handle)), cache))
    }

    /// What it does when it is asked.
    pub fn mode(&self) -> ExchangeMode {
        self.0.mode
    }

    /// How many different exchanges it holds.
    pub fn len(&self) -> usize {
        self.log().map_or(0, |log| log.len())
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What was recorded last for a key.
    pub fn find(&self, key: &Key) -> Result<Option<ExchangeOutcome>, ExchangeError> {
        self.log().map_or(Ok(None), |mut log| log.find(key.digest()))
    }

    /// Records an exchange: on return it is on the disk, whole.
    pub fn record(&self, key: &Key, purpose: &str, outcome: ExchangeOutcome) -> Result<(), ExchangeError> {
        let Some(mut log) = self.log() else { return Ok(()) };
        let line = Line::new(key, purpose, outcome);
        // Text keys and finite numbers: what is made of `Value`s can be written.
        let bytes = line.write().map_err(|error| ExchangeError::Io {
            path: PathBuf::new(),
            source: io::Error::new(io::ErrorKind::InvalidData, error),
        })?;
        if bytes.len() > self.0.bounds.exchange_bytes {
            let bound = self.0.bounds.exchange_bytes;
            return Err(ExchangeError::TooLarge { bytes: bytes.len(), bound });
        }
        log.append(&bytes, key.digest(), &line, self.0.bounds.file_bytes)?;
        let end = log.end;
        drop(log);
        self.sync(end)
    }

    /// Waits until the file is on the disk up to `end`. Whoever goes first takes the lines of all who wait with it: a disk takes
    /// as long for one line as for twenty.
    fn sync(&self, end: u64) -> Result<(), ExchangeError> {
        let mut synced = self.0.synced.lock().unwrap_or_else(PoisonError::into_inner);
        let (upto, Some(file)) = &mut *synced else { return Ok(()) };
        if *upto >= end {
            return Ok(());
        }
        let written = self.log().map_or(0, |log| log.end);
        file.sync_data().map_err(|source| {
            let path = self.log().map(|log| log.path.clone()).unwrap_or_default();
            ExchangeError::Io { path, source }
        })?;
        *upto = written;
        Ok(())
    }

    /// Why a key is not there.
    pub fn miss(&self, key: &Key, purpose: &str) -> Result<Miss, ExchangeError> {
        let near = self.log().map_or(Ok(Near::Empty), |mut log| log.near(key, purpose))?;
        Ok(Miss { endpoint: key.endpoint.clone(), purpose: purpose.to_owned(), ordinal: key.ordinal, near })
    }

    /// Gives what is recorded, or asks with `live` and records that, as the [`ExchangeMode`] says.
    ///
    /// What `live` fails with is not recorded: it is for what kept the question from being asked.
    pub async fn exchange<E, F>(
        &self,
        key: Key,
        purpose: &str,
        live: impl FnOnce() -> F,
    ) -> Result<Exchanged, E>
    where
        E: From<ExchangeError>,
        F: Future<Output = Result<ExchangeOutcome, E>>,
    {
        let (key, purpose) = (Arc::new(key), purpose.to_owned());
        let asking = self.asking(key.digest());
        // Held until the exchange is there: who asks for the same waits here.
        let mut said = asking.lock().await;
        let found = {
            let (store, key, purpose, said) = (self.clone(), key.clone(), purpose.clone(), *said);
            on_disk(move || store.recorded(&key, &purpose, said)).await?
        };
        if let Some(outcome) = found {
            let source = if *said { ExchangeSource::Repeated } else { ExchangeSource::Recorded };
            *said = true;
            return Ok(Exchanged { outcome, source });
        }
        let outcome = live().await?;
        let (store, recorded) = (self.clone(), outcome.clone());
        on_disk(move || {
            if let Some(cache) = &store.0.cache {
                cache.record(&key, &purpose, recorded.clone())?;
            }
            store.record(&key, &purpose, recorded)
        })
        .await?;
        *said = true;
        Ok(Exchanged { outcome, source: ExchangeSource::Live })
    }

    /// What is recorded, as far as the mode lets it count; in a replay it must be there.
    fn recorded(
        &self,
        key: &Key,
        purpose: &str,
        said: bool,
    ) -> Result<Option<ExchangeOutcome>, ExchangeError> {
        match self.0.mode {
            ExchangeMode::Replay => match self.find(key)? {
                Some(outcome) => Ok(Some(outcome)),
                None => Err(ExchangeError::Missing(Box::new(self.miss(key, purpose)?))),
            },
            ExchangeMode::Live { .. } if said => self.find(key),
            ExchangeMode::Live { reuse: true } => {
                let answer = |found: &ExchangeOutcome| matches!(found, ExchangeOutcome::Answer(_));
                if let Some(found) = self.find(key)?.filter(answer) {
                    return Ok(Some(found));
                }
                let Some(cache) = &self.0.cache else { return Ok(None) };
                let found = cache.find(key)?.filter(answer);
                if let Some(outcome) = &found {
                    self.record(key, purpose, outcome.clone())?;
                }
                Ok(found)
            }
            ExchangeMode::Live { reuse: false } => Ok(None),
        }
    }

    fn asking(&self, digest: Digest) -> Arc<tokio::sync::Mutex<bool>> {
        let mut asking = self.0.asking.lock().unwrap_or_else(PoisonError::into_inner);
        asking.entry(digest).or_default().clone()
    }

    fn log(&self) -> Option<MutexGuard<'_, Log>> {
        // A write that a panic cut short is cut off before the next one.
        Some(self.0.log.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Disks may be slow, and a task must not make others wait for one.
async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ExchangeError> + Send + 'static,
) -> Result<T, ExchangeError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(ExchangeError::Io { path: PathBuf::new(), source: io::Error::other(error) }),
    }
}
