//! Options that several commands take: formats, evaluators, durations and variables.

use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use sortie_library::{EvaluatorRoots, EvaluatorScope, EvaluatorSet, Opened};
use sortie_report::counted;
use sortie_report::findings::{GitHub, Human, Json, Reporter, Sarif};
use sortie_run::Config;
use sortie_run::recordings::RecordingFormat;

use crate::{Console, Failure};

/// The formats of recordings, by name.
pub(crate) fn from_format() -> impl TypedValueParser<Value = RecordingFormat> {
    let values = RecordingFormat::names().map(|(name, about)| PossibleValue::new(name).help(about));
    // Only names of formats come this far.
    PossibleValuesParser::new(values)
        .map(|name| RecordingFormat::named(&name).unwrap_or(RecordingFormat::Recognized))
}

/// A format of what is listed or shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Human,
    /// One JSON object
    Json,
}

/// A format of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FindingsFormat {
    /// The source, underlined
    Human,
    /// One JSON object; the schema is docs/schema/check-v1.json
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
}

impl FindingsFormat {
    pub(crate) fn reporter(self, console: &Console) -> Box<dyn Reporter> {
        match self {
            Self::Human => Box::new(Human::new(console.color, console.width())),
            Self::Json => Box::<Json>::default(),
            Self::Sarif => Box::<Sarif>::default(),
            Self::Github => Box::new(GitHub),
        }
    }
}

/// A format of what became of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunsFormat {
    /// Verdict, evidence and reach
    Human,
    /// One JSON object; the schema is docs/schema/run-v2.json
    Json,
    /// `JUnit` XML, for CI
    Junit,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Markdown, for job summaries and pull requests
    Markdown,
    /// One self-contained page, with the traces
    Html,
    /// The JSON without values that differ between runs: times, ports, generated ids, folders, costs
    Canonical,
}

/// Which evaluators there are.
#[derive(Args, Debug, Default)]
pub(crate) struct Sources {
    /// Also load the evaluators in this folder, beside those of `sortie.toml`. Repeatable
    #[arg(long = "evaluators", value_name = "DIR")]
    folders: Vec<PathBuf>,

    /// Do not load the bundled evaluators
    #[arg(long)]
    without_bundled: bool,

    /// Configuration file. Default: `sortie.toml` in this folder
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Sources {
    /// Those of these folders and of a configuration, and those that come with the program unless they are left out.
    pub(crate) fn of(folders: Vec<PathBuf>, without_bundled: bool, config: Option<&Path>) -> Self {
        Self { folders, without_bundled, config: config.map(Path::to_owned) }
    }

    /// The folders that were asked for, here and in the configuration.
    pub(crate) fn asked(&self) -> Result<Vec<PathBuf>, Failure> {
        let mut folders = Config::load(self.config.as_deref())?.evaluators;
        folders.extend(self.folders.iter().cloned());
        let mut seen = std::collections::HashSet::new();
        folders
            .retain(|folder| seen.insert(std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone())));
        Ok(folders)
    }

    /// Loads them. Where one has an error, nothing is used.
    pub(crate) fn load(&self, console: &mut Console) -> Result<EvaluatorSet, Failure> {
        let roots = EvaluatorRoots::load(&self.asked()?, !self.without_bundled)?;
        note_replaced(roots.replaced, console);
        Ok(EvaluatorSet::new(roots)?)
    }

    /// Reads what a scope means, with all that would be loaded with it.
    pub(crate) fn open(&self, scope: &EvaluatorScope, console: &mut Console) -> Result<Opened, Failure> {
        let (opened, replaced) = scope.open(!self.without_bundled)?;
        note_replaced(replaced, console);
        Ok(opened)
    }
}

fn note_replaced(files: usize, console: &mut Console) {
    if files > 0 {
        let files = counted(files, "file of yours replaces", "files of yours replace");
        console.note(&format!("{files} a bundled evaluator file of the same path"));
    }
}

/// A parser of words that each stand for something, with what `--help` says of each.
pub(crate) fn words<T: Clone + Send + Sync + 'static, const N: usize>(
    words: [(&'static str, &'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let known = words.iter().map(|(word, help, _)| PossibleValue::new(*word).help(*help));
    PossibleValuesParser::new(known).map(move |word| {
        // No other word gets here.
        let at = words.iter().position(|(known, ..)| *known == word).unwrap_or_default();
        words[at].2.clone()
    })
}

/// A URL of this machine, or of a host that is allowed.
pub(crate) fn allowed_url(text: &str, allowed: &[String]) -> Result<String, Failure> {
    let Ok(url) = text.parse::<url::Url>() else {
        return Err(Failure::new(format!("`{text}` is not a URL")));
    };
    let is_allowed =
        url.host_str().is_some_and(|host| allowed.iter().any(|own| own.eq_ignore_ascii_case(host)));
    let host = url.host_str().unwrap_or_default();
    // Where a scheme is not one of the web (`nats:`), an address is only a name to the parser.
    let is_local = sortie_wire::http::is_loopback(&url)
        || host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback());
    if !is_allowed && !is_local {
        return Err(Failure::new(format!("`{text}` is not on this machine"))
            .help(format!("allow it with `--allow-host {host}`")));
    }
    Ok(text.to_owned())
}

/// The value of an environment variable that holds a secret.
pub(crate) fn secret(name: &str) -> Result<String, Failure> {
    match std::env::var(name) {
        Ok(value) if !value.is_empty() => Ok(value),
        _ => Err(Failure::new(format!("the environment variable `{name}` is not set"))),
    }
}

/// A duration as documents write it (`30s`, `5m`, `PT1H`), and `500ms`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if let Some(digits) = text.strip_suffix("ms")
        && !digits.is_empty()
        && digits.bytes().all(|digit| digit.is_ascii_digit())
        && let Ok(milliseconds) = digits.parse()
    {
        return Ok(Duration::from_millis(milliseconds));
    }
    sortie_oatf::parse_duration(text).map_err(|error| format!("{error}; write `30s`, `5m`, `500ms`"))
}

/// What `--var NAME=VALUE` says.
pub(crate) fn variable(text: &str) -> Result<(String, String), Failure> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(Failure::new(format!("`--var`: `{text}` is not `NAME=VALUE`"))),
    }
}

/// Reads values that may hold secrets. Left to the reader of arguments, they would be repeated when they are wrong.
pub(crate) fn parse_all<T: FromStr<Err: Display>>(option: &str, texts: &[String]) -> Result<Vec<T>, Failure> {
    let one = |text: &String| text.parse().map_err(|error| Failure::new(format!("`{option}`: {error}")));
    texts.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_of_this_machine_or_of_a_host_that_is_allowed() {
        let allowed = ["nats.example".to_owned()];
        for url in
            ["http://127.0.0.1:1/", "http://localhost:1", "nats://127.0.0.1:4222", "nats://nats.example:4222"]
        {
            assert!(allowed_url(url, &allowed).is_ok(), "{url}");
        }
        for url in ["http://192.0.2.1/", "nats://192.0.2.1:4222", "nats://127.0.0.1.example:4222", "nothing"]
        {
            assert!(allowed_url(url, &allowed).is_err(), "{url}");
        }
    }

    #[test]
    fn durations_are_written_as_in_documents_or_in_milliseconds() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2m"), Ok(Duration::from_mins(2)));
        for wrong in ["ms", "-1ms", "1.5ms", "5", "s", ""] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
