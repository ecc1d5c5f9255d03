//! The files that a URL stands for, and the parts of them that are read at the same time.

use std::ops::Range;
use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::common::plan_err;
use datafusion::datasource::listing::ListingTableUrl;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::parquet::arrow::async_reader::ParquetObjectReader;
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use serde::{Deserialize, Serialize};

use super::parquet::whole_session_groups;

/// How long a part of a file is, in bytes: no less, and no more.
const PART_BYTES: Range<u64> = 4 * 1024 * 1024..64 * 1024 * 1024;
/// Parquet files above this size are read by several tasks, in bytes.
const LARGE_PARQUET: u64 = 16 * 1024 * 1024;
/// How many files a table has at most.
const MAX_FILES: usize = 1_000_000;
/// How many files are looked into at the same time when a query is planned.
const OPEN: usize = 16;

/// How a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileKind {
    Lines,
    Gzip,
    Zstd,
    Parquet,
}

impl FileKind {
    /// What a name says. A file of a folder that says nothing is passed over.
    fn of(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let ends = |words: &[&str]| words.iter().any(|word| name.ends_with(word));
        if ends(&[".jsonl", ".ndjson"]) {
            Some(Self::Lines)
        } else if ends(&[".jsonl.gz", ".ndjson.gz"]) {
            Some(Self::Gzip)
        } else if ends(&[".jsonl.zst", ".ndjson.zst"]) {
            Some(Self::Zstd)
        } else if ends(&[".parquet"]) {
            Some(Self::Parquet)
        } else {
            None
        }
    }
}

/// Sessions of one file that one task reads, one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanPart {
    /// Where the file is in its store.
    pub(crate) location: String,
    /// What it is called in rows.
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) kind: FileKind,
    /// Sessions whose first line begins in this range of bytes, or row groups; all where there is none.
    pub(crate) range: Option<Range<u64>>,
    /// How much there is to read.
    pub(crate) weight: u64,
}

impl ScanPart {
    pub(crate) fn path(&self) -> Result<Path> {
        Ok(Path::parse(&self.location)?)
    }
}

/// What a URL stands for: a file, a folder or a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct TraceLocation {
    /// As it was written.
    pub(crate) text: String,
    /// With the folder in which it was written, so that it means the same elsewhere.
    url: String,
    glob: Option<String>,
}

impl TraceLocation {
    pub(crate) fn new(text: &str) -> Result<Self> {
        if text.is_empty() {
            return plan_err!("the URL of the traces is empty");
        }
        let url = ListingTableUrl::parse(text)?;
        let glob = url.get_glob().as_ref().map(|glob| glob.as_str().to_owned());
        Ok(Self { text: text.to_owned(), url: url.to_string(), glob })
    }

    fn listing(&self) -> Result<ListingTableUrl> {
        let glob = self.glob.as_deref().map(glob::Pattern::new).transpose();
        let glob = glob.map_err(|error| datafusion::error::DataFusionError::External(Box::new(error)))?;
        let url = url::Url::parse(&self.url);
        let url = url.map_err(|error| datafusion::error::DataFusionError::External(Box::new(error)))?;
        ListingTableUrl::try_new(url, glob)
    }

    /// The store that the files are in.
    pub(crate) fn store_url(&self) -> Result<ObjectStoreUrl> {
        Ok(self.listing()?.object_store())
    }

    /// What a file is called in rows: as `sortie scan` calls it, with the text that was written.
    fn name_of(&self, listing: &ListingTableUrl, location: &Path) -> String {
        let base = match self.glob.as_deref() {
            Some(glob) => self.text.strip_suffix(glob).unwrap_or(&self.text),
            None => &self.text,
        };
        let base = base.strip_prefix("file://").unwrap_or(base);
        let rest = location.as_ref().strip_prefix(listing.prefix().as_ref()).unwrap_or(location.as_ref());
        let rest = rest.trim_start_matches('/');
        match (rest, base) {
            ("", _) => base.to_owned(),
            (_, "") => rest.to_owned(),
            _ => format!("{}/{rest}", base.trim_end_matches('/')),
        }
    }

    /// The files, in order.
    async fn files(
        &self,
        session: &dyn Session,
        store: &dyn ObjectStore,
    ) -> Result<Vec<(ObjectMeta, String, FileKind)>> {
        let listing = self.listing()?;
        let mut found = listing.list_all_files(session, store, "").await?;
        let mut files = Vec::new();
        while let Some(file) = found.try_next().await? {
            let is_named = !listing.is_collection() && file.location == *listing.prefix();
            // A file that is named has to be a trace, whatever it is called.
            let kind = FileKind::of(file.location.as_ref()).or(is_named.then_some(FileKind::Lines));
            let Some(kind) = kind else { continue };
            if files.len() == MAX_FILES {
                return plan_err!("there are more than {MAX_FILES} files in `{}`", self.text);
            }
            let name = self.name_of(&listing, &file.location);
            files.push((file, name, kind));
        }
        files.sort_by(|left, right| left.0.location.cmp(&right.0.location));
        Ok(files)
    }

    /// The parts of all files, for so many tasks.
    pub(crate) async fn parts(
        &self,
        session: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        tasks: usize,
        part_bytes: Option<u64>,
    ) -> Result<Vec<Vec<ScanPart>>> {
        let files = self.files(session, store.as_ref()).await?;
        if files.is_empty() {
            return plan_err!(
                "there is no trace in `{}`: files that end with .jsonl, .ndjson (also .gz and .zst) and .parquet are read",
                self.text
            );
        }
        let all: u64 = files.iter().map(|(file, ..)| file.size).sum();
        let length = (all / (tasks as u64 * 4)).clamp(PART_BYTES.start, PART_BYTES.end);
        let length = part_bytes.unwrap_or(length);
        let parts = futures::stream::iter(files.into_iter().map(|(file, name, kind)| {
            let store = Arc::clone(store);
            async move { file_parts(store, file, name, kind, length).await }
        }));
        let parts: Vec<Vec<ScanPart>> = parts.buffered(OPEN).try_collect().await?;
        Ok(balanced(parts.into_iter().flatten().collect(), tasks))
    }
}

async fn file_parts(
    store: Arc<dyn ObjectStore>,
    file: ObjectMeta,
    name: String,
    kind: FileKind,
    length: u64,
) -> Result<Vec<ScanPart>> {
    let size = file.size;
    let part = |range: Option<Range<u64>>, weight: u64| ScanPart {
        location: file.location.to_string(),
        name: name.clone(),
        size,
        kind,
        range,
        weight,
    };
    match kind {
        FileKind::Lines => {
            let starts = (0..size.max(1)).step_by(usize::try_from(length).unwrap_or(usize::MAX));
            let ranges = starts.map(|start| start..(start + length).min(size));
            Ok(ranges.map(|range| part(Some(range.clone()), range.end - range.start)).collect())
        }
        FileKind::Parquet if size > LARGE_PARQUET.min(length) => {
            let reader =
                ParquetObjectReader::new(Arc::clone(&store), file.location.clone()).with_file_size(size);
            // A file that is damaged is one error, when it is read.
            let Some(groups) = whole_session_groups(reader, length).await else {
                return Ok(vec![part(None, size)]);
            };
            Ok(groups.into_iter().map(|(groups, bytes)| part(Some(groups), bytes)).collect())
        }
        FileKind::Gzip | FileKind::Zstd | FileKind::Parquet => Ok(vec![part(None, size)]),
    }
}

/// Gives each task about as much to read, the parts of each in order.
fn balanced(parts: Vec<ScanPart>, tasks: usize) -> Vec<Vec<ScanPart>> {
    let tasks = tasks.clamp(1, parts.len().max(1));
    let mut shares: Vec<(u64, Vec<(usize, ScanPart)>)> = vec![(0, Vec::new()); tasks];
    let mut parts: Vec<_> = parts.into_iter().enumerate().collect();
    parts.sort_by_key(|(_, part)| std::cmp::Reverse(part.weight));
    for (at, part) in parts {
        if let Some(least) = shares.iter_mut().min_by_key(|share| share.0) {
            least.0 += part.weight;
            least.1.push((at, part));
        }
    }
    let in_order = |(_, mut share): (u64, Vec<(usize, ScanPart)>)| {
        share.sort_by_key(|(at, _)| *at);
        share.into_iter().map(|(_, part)| part).collect()
    };
    shares.into_iter().map(in_order).collect()
}
