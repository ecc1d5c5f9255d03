//! Evaluators against a target: what `sortie run` does where ids of evaluators or suites are named.

mod chosen;
mod play;
#[allow(dead_code, reason = "`sortie run` is about to use it")]
mod tape;

use std::path::PathBuf;

use clap::Args;

pub(crate) use chosen::Chosen;
pub(crate) use play::{Attack, Outcome};

use super::talk::TalkArgs;

/// What only evaluators need.
#[derive(Args, Debug)]
#[command(next_help_heading = "Evaluators")]
pub(crate) struct CaseArgs {
    /// Play the evaluators of a suite (`sortie suites list`); may be given more than once
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

    /// Go on with a run that was ended before it was over: its folder
    #[arg(long, value_name = "DIR", conflicts_with = "run_dir")]
    pub(crate) resume: Option<PathBuf>,

    /// How long one answer of the target may take
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = super::duration)]
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
