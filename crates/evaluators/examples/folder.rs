//! Loads a folder of evaluators, and says what is wrong with it: `cargo run -p sortie-evaluators --example folder -- DIR`.

use std::path::Path;

use sortie_evaluators::{CaseResult, File, Root, load, prove};

fn walk(root: &Path, folder: &Path, files: &mut Vec<File>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            walk(root, &path, files)?;
        } else {
            let below = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            files.push(match std::fs::read(&path) {
                Ok(bytes) => File::bytes(below, &bytes),
                Err(error) => File::unreadable(below, error.to_string()),
            });
        }
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "evaluators".to_owned());
    let mut files = Vec::new();
    walk(Path::new(&folder), Path::new(&folder), &mut files)?;
    let loaded = load(&[Root::new(folder, files)], &[]);
    for file in &loaded.findings {
        for finding in &file.diagnostics {
            let line = finding.span.map_or(0, |span| file.source.line_column(span.start).line);
            println!("{}[{}] {}:{line}: {}", finding.severity, finding.code, file.file, finding.message);
            for help in finding.label.iter().chain(&finding.help) {
                println!("    {help}");
            }
        }
    }
    let (mut right, mut left, mut wrong) = (0, 0, 0);
    for entry in loaded.catalogue.entries() {
        let Some(fixtures) = &entry.fixtures else { continue };
        for outcome in prove(&entry.evaluator, fixtures).unwrap_or_default() {
            match outcome.result {
                CaseResult::Right => right += 1,
                CaseResult::LeftToJudge => left += 1,
                CaseResult::Wrong => {
                    wrong += 1;
                    println!(
                        "wrong: {} {} (line {}): expected {}, checks say {} {:?} {:?}",
                        entry.file,
                        outcome.case,
                        outcome.line,
                        outcome.expect,
                        outcome.decision.verdict,
                        outcome.decision.because,
                        outcome.decision.errors
                    );
                }
            }
        }
    }
    println!(
        "{} evaluators; fixtures: {right} right, {left} left to a judge, {wrong} wrong",
        loaded.catalogue.entries().len()
    );
    Ok(())
}
