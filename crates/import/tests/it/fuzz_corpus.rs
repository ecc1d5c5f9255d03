//! What fuzzing formats starts from and what it has found, run as ordinary tests. Seeds come from the recordings: a format that
//! has one is fuzzed. `SNAPSHOTS=overwrite` writes those of formats that have no seed yet.

#[allow(unreachable_pub)]
#[path = "../../../../fuzz/src/import.rs"]
mod body;
#[allow(unreachable_pub)]
#[path = "../../../../fuzz/src/corpus.rs"]
mod corpus;

use std::path::Path;

use sortie_import::Format;

use crate::recordings;

/// How long a seed is: no longer than what `cargo xtask fuzz` gives a target.
const SEED: usize = 4000;

#[test]
fn seeds_and_regressions_pass() {
    corpus::seeds_and_regressions("import", body::import);
}

#[test]
fn seeds_that_are_damaged_pass_too() {
    corpus::damaged_seeds("import", body::import);
}

#[test]
fn recordings_pass() {
    for (format, file) in recordings() {
        body::import(&seed(format, &std::fs::read(file).unwrap()));
    }
}

fn seed(format: &Format, bytes: &[u8]) -> Vec<u8> {
    [format.name.as_bytes(), b"\n", bytes].concat()
}

#[test]
fn every_format_has_a_seed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/import");
    for (format, file) in recordings() {
        let prefix = format!("{}_", format.name);
        let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        let has_seed = files.into_iter().any(|name| name.to_string_lossy().starts_with(&prefix));
        if !has_seed && std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
            let bytes = std::fs::read(&file).unwrap();
            let stem = file.file_name().unwrap().to_string_lossy().replace('.', "_");
            let path = folder.join(format!("{prefix}{stem}"));
            std::fs::write(path, seed(format, &bytes[..bytes.len().min(SEED)])).unwrap();
        } else {
            assert!(
                has_seed,
                "`{}` has no seed in fuzz/corpus/import (SNAPSHOTS=overwrite writes it)",
                format.name
            );
        }
    }
}

/// A fuzzer of our own, for machines without libFuzzer: seeds and recordings, mutated for `SORTIE_FUZZ_SECONDS` seconds.
/// `SORTIE_FUZZ_FORMAT` chooses one format.
#[test]
#[ignore = "takes as long as it is told: SORTIE_FUZZ_SECONDS=600 cargo test --release -p sortie-import --test it -- --ignored random"]
fn random_mutations_pass() {
    let seconds = std::env::var("SORTIE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(10);
    let only = std::env::var("SORTIE_FUZZ_FORMAT").ok();
    let recordings =
        recordings().into_iter().filter(|(format, _)| only.as_deref().is_none_or(|only| only == format.name));
    let seeds: Vec<(&Format, Vec<u8>)> =
        recordings.map(|(format, file)| (format, std::fs::read(file).unwrap())).collect();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(seconds);
    let mut runs = 0u64;
    while std::time::Instant::now() < end {
        let (format, seed_bytes) = &seeds[random.below(seeds.len())];
        let bytes = mutated(seed_bytes, &seeds, &mut random);
        let input = if only.is_some() { bytes } else { seed(format, &bytes) };
        let passed = std::panic::catch_unwind(|| body::import(&input));
        if passed.is_err() {
            let path = std::env::temp_dir().join(format!("sortie-import-{}-{runs}", format.name));
            std::fs::write(&path, &input).unwrap();
            panic!("run {runs} fails: {}", path.display());
        }
        runs += 1;
    }
    println!("{runs} runs in {seconds} seconds");
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap()
    }
}

fn mutated(seed: &[u8], seeds: &[(&Format, Vec<u8>)], random: &mut Random) -> Vec<u8> {
    const WORDS: &[&str] = &[
        "null",
        "[]",
        "{}",
        "\"\"",
        "-1",
        "1e999",
        "18446744073709551616",
        "\"\\ud800\"",
        "\"attachment://0\"",
        "[[0,9]]",
        "true",
        "\n",
        ",",
        "\"id\":\"x\",",
        "\u{feff}",
        "{\"role\":\"user\"}",
        "\"mcp__a__b\"",
    ];
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len());
        let end = (at + random.below(64)).min(bytes.len());
        match random.below(9) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 => bytes.truncate(at),
            2 => _ = bytes.drain(at..end),
            3 => bytes.splice(at..at, WORDS[random.below(WORDS.len())].bytes()).for_each(drop),
            4 => bytes.splice(at..end, WORDS[random.below(WORDS.len())].bytes()).for_each(drop),
            5 => {
                let copy = bytes[at..end].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, copy).for_each(drop);
            }
            6 => {
                // A value in place of another.
                let (from, to) = (value(&bytes, random), value(&bytes, random));
                let copy = bytes[from].to_vec();
                bytes.splice(to, copy).for_each(drop);
            }
            7 => {
                let other = &seeds[random.below(seeds.len())].1;
                let from = value(other, random);
                let to = value(&bytes, random);
                bytes.splice(to, other[from].to_vec()).for_each(drop);
            }
            _ => {
                let value = value(&bytes, random);
                bytes.splice(value, WORDS[random.below(WORDS.len())].bytes()).for_each(drop);
            }
        }
        bytes.truncate(200_000);
    }
    bytes
}

/// Where some value of an object is, if there is one.
fn value(bytes: &[u8], random: &mut Random) -> std::ops::Range<usize> {
    let from = random.below(bytes.len());
    let colon = bytes[from..].windows(2).position(|two| two == b"\":").map(|at| from + at + 2);
    let Some(start) = colon else { return from..from };
    let mut values =
        serde_json::Deserializer::from_slice(&bytes[start..]).into_iter::<serde::de::IgnoredAny>();
    match values.next() {
        Some(Ok(_)) => start..start + values.byte_offset(),
        _ => start..start,
    }
}
