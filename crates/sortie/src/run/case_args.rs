//! What only evaluators need, and what is about all of a run.

use std::path::PathBuf;

use clap::Args;

use super::duration;
use super::talk::TalkArgs;

/// Evaluators, what they are filled with, and how fast they go.
#[derive(Args, Debug)]
#[command(next_help_heading = "Suites and evaluators")]
pub(crate) struct CaseArgs {
    /// Play the evaluators and the documents of a suite (`sortie suites list`); may be given more than once
    #[arg(long, value_name = "NAME")]
    pub(crate) suite: Vec<String>,

    /// A folder of evaluators, besides those that come with Sortie; may be given more than once
    #[arg(long = "evaluators", value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,

    /// What a placeholder of templates stands for; may be given more than once
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) var: Vec<String>,

    /// What placeholders of templates stand for: `[profiles.NAME]` of sortie.toml, where `[values]` holds for all
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,

    /// How many cases begin in a second, at most
    #[arg(long, value_name = "N", value_parser = rate)]
    pub(crate) rate: Option<f64>,

    /// How long one answer of the target may take
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration)]
    pub(crate) answer_timeout: std::time::Duration,

    #[command(flatten)]
    pub(crate) talk: TalkArgs,
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err("it is a number greater than 0".to_owned()),
    }
}
