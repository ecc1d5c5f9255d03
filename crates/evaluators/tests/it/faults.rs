//! Every fault is reported with its code, file, line and help: `faults/<name>/root` holds one, `expected.txt` what is said.
//!
//! `SNAPSHOTS=overwrite` accepts what is said now.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use sortie_evaluators::{File, Loaded, Root, load};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults")
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn files(root: &Path, folder: &Path, into: &mut Vec<File>) {
    for path in sorted(folder) {
        if path.is_dir() {
            files(root, &path, into);
        } else {
            let below = path.strip_prefix(root).unwrap().to_str().unwrap();
            into.push(File::bytes(below, &fs::read(&path).unwrap()));
        }
    }
}

/// One root, or several below `roots`.
fn roots(fault: &Path) -> Vec<Root> {
    let several = fault.join("roots");
    let folders = if several.is_dir() { sorted(&several) } else { vec![fault.join("root")] };
    let named = |folder: &PathBuf| {
        let mut found = Vec::new();
        files(folder, folder, &mut found);
        let name = folder.file_name().unwrap().to_str().unwrap();
        Root::new(if name == "root" { "" } else { name }, found)
    };
    folders.iter().map(named).collect()
}

fn rendered(loaded: &Loaded) -> String {
    let mut text = String::new();
    for file in &loaded.findings {
        for finding in &file.diagnostics {
            let place = match finding.span.map(|span| (span, file.source.line_column(span.start))) {
                Some((_, at)) => format!("{}:{}:{}", file.file, at.line, at.column),
                None => file.file.clone(),
            };
            writeln!(text, "{}[{}] {place}: {}", finding.severity, finding.code, finding.message).unwrap();
            let source = finding.span.map(|span| file.source.slice(span)).unwrap_or_default();
            if !source.is_empty() {
                writeln!(text, "    at: {}", source.escape_debug()).unwrap();
            }
            if let Some(label) = &finding.label {
                writeln!(text, "    label: {label}").unwrap();
            }
            for label in &finding.labels {
                let line = file.source.line_column(label.span.start).line;
                writeln!(text, "    also: line {line}: {}", label.text).unwrap();
            }
            for help in &finding.help {
                writeln!(text, "    help: {help}").unwrap();
            }
            if let Some(fix) = &finding.fix {
                writeln!(text, "    fix: {}", fix.title).unwrap();
            }
        }
    }
    let ids: Vec<_> = loaded.catalogue.entries().iter().map(|entry| entry.evaluator.id.as_str()).collect();
    writeln!(text, "loaded: {}", if ids.is_empty() { "nothing".to_owned() } else { ids.join(", ") }).unwrap();
    text
}

#[test]
fn every_fault_is_reported() {
    let overwrite = std::env::var("SNAPSHOTS").is_ok_and(|action| action == "overwrite");
    let faults = sorted(&folder());
    assert!(faults.len() >= 40, "{} faults are too few", faults.len());
    let mut failures = Vec::new();
    for fault in faults {
        let name = fault.file_name().unwrap().to_string_lossy().into_owned();
        let loaded = load(&roots(&fault), &[]);
        if loaded.findings.is_empty() {
            failures.push(format!("{name}: nothing was found"));
        }
        for finding in loaded.findings.iter().flat_map(|file| &file.diagnostics) {
            if finding.help.is_empty() {
                failures.push(format!("{name}: nothing is said about what to do: {}", finding.message));
            }
            if finding.span.is_none() {
                failures.push(format!("{name}: nothing is said about where: {}", finding.message));
            }
            let known = sortie_evaluators::rules::rule(finding.code).or(sortie_oatf::rule(finding.code));
            if known.is_none_or(|rule| rule.severity != finding.severity) {
                failures.push(format!("{name}: {} cannot be explained", finding.code));
            }
        }
        let said = rendered(&loaded);
        let golden = fault.join("expected.txt");
        if overwrite {
            fs::write(&golden, &said).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        if said != expected {
            failures.push(format!("{name} is said to be\n{said}and was\n{expected}"));
        }
    }
    assert!(failures.is_empty(), "{} differ\n{}", failures.len(), failures.join("\n"));
}
