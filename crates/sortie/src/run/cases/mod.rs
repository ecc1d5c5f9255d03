//! Evaluators against a target: what `sortie run` does where ids of evaluators or suites are named.

mod chosen;
mod play;
#[allow(dead_code, reason = "`sortie run` is about to use it")]
mod tape;
mod target;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

pub(crate) use chosen::Chosen;
pub(crate) use play::{Attack, Outcome};
pub(crate) use target::asked_target;

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

    /// How many cases begin in a second, at most
    #[arg(long, value_name = "N", value_parser = rate)]
    pub(crate) rate: Option<f64>,

    /// Go on with a run that was ended before it was over: its folder
    #[arg(long, value_name = "DIR", conflicts_with = "run_dir")]
    pub(crate) resume: Option<PathBuf>,

    /// How long one answer of the target may take
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = super::duration)]
    pub(crate) answer_timeout: std::time::Duration,

    /// The model of a `chat` target; the first that it lists, if this is left out
    #[arg(long, value_name = "NAME")]
    pub(crate) chat_model: Option<String>,

    /// What a `chat` target is told as its system before anything else
    #[arg(long, value_name = "TEXT")]
    pub(crate) chat_system: Option<String>,

    /// The body that an `http` target is sent, as JSON; `{{message}}` and `{{session}}` in its texts are filled in
    #[arg(long, value_name = "JSON", default_value = r#"{"message": "{{message}}"}"#)]
    pub(crate) http_body: String,

    /// Where the answer of an `http` target is, as a path of RFC 9535; all of it, if this is left out
    #[arg(long, value_name = "PATH")]
    pub(crate) http_answer: Option<String>,

    /// How a `cmd` target is talked to
    #[arg(long, value_enum, value_name = "HOW", default_value = "plain")]
    pub(crate) cmd_protocol: CmdProtocol,
}

/// How a program is talked to.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CmdProtocol {
    /// A line of text in, a line of text out
    Plain,
    /// `{"text": …}` in, `{"text": …, "calls": […], "error": …}` out, a line each
    Json,
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate.is_finite() && rate > 0.0 => Ok(rate),
        _ => Err("it is a number greater than 0".to_owned()),
    }
}
