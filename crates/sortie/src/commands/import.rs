//! `sortie import`

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use sortie_atr::{AtrReport, ImportedRule, LeftOut, RuleError, RulesError, SkippedCondition};
use sortie_prove::{MANIFEST, folder_of};
use sortie_report::files::{FileError, create};
use sortie_report::findings::Checked;
use sortie_report::{counted, line, write_json};

use crate::{Console, Exit, Failure, Format};

const EXAMPLES: &str = "\
Examples:
  Convert the rules of a folder, and list what was left out:
    $ sortie import atr rules/ --out imported # ends with 1

  Check the documents:
    $ sortie check imported/

  Overwrite the documents, and write the list as JSON:
    $ sortie import atr rules/ --out imported --force --format json # ends with 1

Exit codes:
  0  every rule was imported, with all of its conditions
  1  a rule or a condition was left out, or a document differs from its rule
  2  wrong usage, a folder without rules, a rule that cannot be read; nothing was written";

/// Convert detection rules of other projects into documents.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Import {
    #[command(subcommand)]
    from: ImportSource,
}

subcommands! {
    enum ImportSource {
        Atr(ImportAtr),
    }
}

/// Convert Agent Threat Rules (ATR) into documents.
///
/// Each rule becomes one document. Each condition becomes an indicator for each kind of message that can contain the text. The tests of
/// the rule become proofs next to the document. A pattern is converted only if the result matches exactly the same texts. Other conditions
/// are left out and listed with the reason.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
struct ImportAtr {
    /// Folder with the rules: YAML files, also in subfolders
    #[arg(value_name = "DIR")]
    rules: PathBuf,

    /// Folder for the documents; created if it does not exist
    #[arg(long, short, value_name = "FOLDER")]
    out: PathBuf,

    /// Overwrite existing documents and proofs
    #[arg(long)]
    force: bool,

    /// Report format; the JSON schema is docs/schema/import-atr-v1.json
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

impl Import {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        self.from.run(console)
    }
}

impl ImportAtr {
    fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        let (imported, left_out) = sortie_atr::load(&self.rules).map_err(failure)?;
        self.write(&imported)?;
        let report = AtrReport::new(&imported, &left_out);
        match self.format {
            Format::Json => write_json(&mut console.out, &report)?,
            Format::Human => console.put(page(&imported, &left_out, &report).as_bytes(), None)?,
        }
        let documents = counted(imported.len(), "document", "documents");
        console.note(&format!("wrote {documents} with proofs into `{}`", self.out.display()));
        Ok(if report.is_whole() { Exit::Clean } else { Exit::Findings })
    }

    fn write(&self, imported: &[ImportedRule]) -> Result<(), Failure> {
        // A valid document has an id that can name a file.
        let files = |rule: &ImportedRule| {
            let document = self.out.join(format!("{}.yaml", rule.id));
            let proofs = folder_of(&document).join(MANIFEST);
            (document, proofs)
        };
        if !self.force {
            for rule in imported {
                let (document, proofs) = files(rule);
                if let Some(there) = [document, proofs].into_iter().find(|path| path.exists()) {
                    return Err(FileError::Exists(there).into());
                }
            }
        }
        for rule in imported {
            let (document, proofs) = files(rule);
            let folder = folder_of(&document);
            fs::create_dir_all(&folder).map_err(|error| FileError::io(&folder, "make", error))?;
            create(&document, &rule.document, self.force)?;
            create(&proofs, &rule.proofs(), self.force)?;
        }
        Ok(())
    }
}

fn failure(error: RulesError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        RulesError::Rule { path, error: RuleError::Yaml { source_text: source, findings } } => {
            let name = path.to_string_lossy().into_owned();
            Failure { findings: vec![Checked { name, source, valid: false, findings }], ..failure }
        }
        RulesError::NoRules { .. } => failure.help("a rule is a YAML file with `detection`"),
        _ => failure,
    }
}

/// The list for people: what is not as its rule says, and the counts.
fn page(imported: &[ImportedRule], left_out: &[LeftOut], report: &AtrReport<'_>) -> String {
    let mut page = Vec::new();
    for rule in left_out {
        page.push(format!("left out: {} {}", rule.id, line(&rule.title)));
        page.push(format!("  --> {}", shown(&rule.file)));
        page.push(format!("  {:<22} {}", rule.reason.as_str(), line(&rule.detail)));
    }
    for rule in imported.iter().filter(|rule| !rule.is_whole()) {
        page.push(format!("partial: {} {}", rule.id, line(&rule.title)));
        page.push(format!("  --> {}", shown(&rule.file)));
        for SkippedCondition { condition, line: at, reason, detail, .. } in &rule.skipped {
            page.push(format!(
                "  {:<22} condition {condition} at line {at}: {}",
                reason.as_str(),
                line(detail)
            ));
        }
        page.extend(rule.notes.iter().map(|note| format!("  {:<22} {}", note.as_str(), note.explain())));
    }
    if !page.is_empty() {
        page.push(String::new());
    }
    page.extend(totals(report));
    page.push(String::new());
    page.join("\n")
}

fn shown(path: &Path) -> String {
    line(&path.to_string_lossy())
}

fn totals(report: &AtrReport<'_>) -> Vec<String> {
    let totals = &report.totals;
    let reasons = |reasons: &mut dyn Iterator<Item = (&str, usize)>| {
        let reasons: Vec<String> = reasons.map(|(reason, count)| format!("{count} {reason}")).collect();
        if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) }
    };
    let left_out = totals.left_out_by_reason.iter().map(|(reason, count)| (reason.as_str(), *count));
    let skipped = totals.skipped_by_reason.iter().map(|(reason, count)| (reason.as_str(), *count));
    let differing = totals.disagreements.iter().map(|(because, count)| (because.as_str(), *count));
    vec![
        format!(
            "{}: {} imported, {} of them in part, {} left out{}",
            counted(totals.rules, "rule", "rules"),
            totals.documents,
            totals.partial,
            totals.left_out,
            reasons(&mut { left_out })
        ),
        format!(
            "{}, {} left out{}; {}",
            counted(totals.conditions, "condition", "conditions"),
            totals.conditions_skipped,
            reasons(&mut { skipped }),
            counted(totals.indicators, "indicator", "indicators")
        ),
        format!(
            "{} of the imported rules: {} agree, {} do not{}",
            counted(totals.tests, "test", "tests"),
            totals.tests_agreed,
            totals.tests - totals.tests_agreed,
            reasons(&mut { differing })
        ),
    ]
}
