//! `sortie explain`

use std::io::Write;

use clap::Args;
use sortie_report::findings::{nearest_rule, rule, rules};
use sortie_report::{markdown, style};
use sortie_syntax::Rule;

use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  What does this code mean, and what would be right?
    $ sortie explain V-013

  Every code there is:
    $ sortie explain --list";

/// Explain a code: what must hold, why, and what is wrong and right.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Explain {
    /// A code from a finding, such as `V-013`
    #[arg(required_unless_present = "list", conflicts_with = "list")]
    code: Option<String>,

    /// List every code with its title
    #[arg(long)]
    list: bool,
}

impl Explain {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        match self.code {
            Some(code) => page(&rule(&code).ok_or_else(|| unknown(&code))?, console)?,
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

fn list(console: &mut Console) -> std::io::Result<()> {
    for rule in rules() {
        let code = style::paint(console.color, style::STRONG, rule.code);
        writeln!(console.out, "{code}  {}  {}", severity(&rule, console.color, 7), rule.title)?;
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
    Failure::new(format!("there is no code `{code}`")).help(match nearest_rule(code) {
        Some(rule) => format!("did you mean `{}` ({})?", rule.code, rule.title),
        None => "`sortie explain --list` shows every code".to_owned(),
    })
}
