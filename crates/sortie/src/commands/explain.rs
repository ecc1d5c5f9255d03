//! `sortie explain`

use std::io::Write;

use clap::Args;
use sortie_report::findings::{nearest_rule, rule, rules};
use sortie_report::words::{self, ReportWord};
use sortie_report::{markdown, style, wrap};
use sortie_syntax::Rule;

use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  Explain a rule code:
    $ sortie explain V-013

  Explain terms of a report:
    $ sortie explain boundary_breach
    $ sortie explain not_delivered
    $ sortie explain regressed

  List all codes and terms:
    $ sortie explain --list";

/// How wide an explanation may be.
const WIDTH: usize = 100;

/// Explain a rule code or a term from a report.
///
/// A code: the rule, its reason, a wrong and a right example. A term, such as a tier, a failure or a result: its meaning, and
/// what to do.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Explain {
    /// A code such as `V-013`, or a term such as `not_delivered`
    #[arg(
        value_name = "WORD",
        required_unless_present = "list",
        conflicts_with = "list",
        allow_hyphen_values = true
    )]
    code: Option<String>,

    /// List every code with its title, and every term
    #[arg(long)]
    list: bool,
}

impl Explain {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        match self.code {
            Some(code) => match rule(&code) {
                Some(rule) => page(&rule, console)?,
                None => explained(&code, console)?,
            },
            None => list(console)?,
        }
        Ok(Exit::Clean)
    }
}

fn page(rule: &Rule, console: &mut Console) -> std::io::Result<()> {
    let color = console.color;
    let title = style::paint(color, style::STRONG, &format!("{}: {}", rule.code, rule.title));
    let origin = match (rule.family(), rule.spec) {
        ('E', _) => "a rule of evaluators".to_owned(),
        (_, "") => "a rule of Sortie's".to_owned(),
        (_, spec) => format!("OATF {spec}"),
    };
    writeln!(console.out, "{title}\n{} · {origin}\n", severity(rule, color, 0))?;
    write!(console.out, "{}", markdown(&rule.page().markdown, color))
}

fn explained(word: &str, console: &mut Console) -> Result<(), Failure> {
    let found = words::find(word);
    if found.is_empty() {
        return Err(unknown(word));
    }
    for (index, ReportWord { word, kind, text }) in found.into_iter().enumerate() {
        let title = style::paint(console.color, style::STRONG, word);
        let between = if index > 0 { "\n" } else { "" };
        writeln!(console.out, "{between}{title}: {kind}\n")?;
        wrap(text, WIDTH).iter().try_for_each(|line| writeln!(console.out, "{line}"))?;
    }
    Ok(())
}

fn list(console: &mut Console) -> std::io::Result<()> {
    for rule in rules() {
        let code = style::paint(console.color, style::STRONG, rule.code);
        writeln!(console.out, "{code}  {}  {}", severity(&rule, console.color, 7), rule.title)?;
    }
    writeln!(console.out)?;
    for ReportWord { word, kind, .. } in words::all() {
        writeln!(console.out, "{}  {kind}", style::paint(console.color, style::STRONG, word))?;
    }
    Ok(())
}

fn severity(rule: &Rule, color: bool, width: usize) -> String {
    let style = match rule.severity {
        sortie_syntax::DiagnosticSeverity::Error => style::ERROR,
        sortie_syntax::DiagnosticSeverity::Warning => style::WARNING,
    };
    style::paint(color, style, &format!("{:width$}", rule.severity.as_str()))
}

fn unknown(code: &str) -> Failure {
    let failure = Failure::new(format!("there is no code and no word `{code}`"));
    failure.help(match (nearest_rule(code), words::nearest_word(code)) {
        (Some(rule), _) => format!("did you mean `{}` ({})?", rule.code, rule.title),
        (None, Some(word)) => format!("did you mean `{word}`?"),
        (None, None) => "`sortie explain --list` shows every code and every word".to_owned(),
    })
}
