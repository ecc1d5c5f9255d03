//! `cargo xtask bench`: ours against crate `oatf` 0.4.0 on the same inputs in the same run, and against the limit.
//!
//! Figures are ratios of CPU time, never times: those of one machine say nothing about another. It ends with 1 when a
//! ratio is below its bar, when it could not be measured, or when verdicts differ without an explanation.

mod clock;
mod equal;
mod flows;
mod hostile;
mod inputs;
mod limit;
mod ours;
mod rival;
mod rulesets;
mod subject;
mod table;

use std::process::ExitCode;

use clock::{Effort, both};
use inputs::{Library, Message};
use ours::Ours;
use rival::Rival;
use serde_json::Value;
use subject::Subject;
use table::Table;

type Indicators<S> = Vec<(String, <S as Subject>::Indicator)>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let effort = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Effort::FULL,
        ["--quick"] => Effort::QUICK,
        ["--flows", ..] => return ended(only(flows::measure, quick)),
        ["--rulesets", ..] => return ended(only(rulesets::measure, quick)),
        ["--repeat", work] => return repeat(work),
        ["--hostile", input] => return hostile::answer(input),
        _ => {
            eprintln!(
                "usage: cargo xtask bench [--quick]\n       sortie-bench --flows|--rulesets [--quick]\n       sortie-bench --repeat load|library"
            );
            return ExitCode::from(2);
        }
    };
    ended(run(effort, quick))
}

/// Only the rows of one part.
fn only(measure: fn(bool, &mut Table) -> Result<(), String>, quick: bool) -> Result<bool, String> {
    let mut table = Table::default();
    measure(quick, &mut table)?;
    print!("{table}");
    Ok(table.all_bars_met())
}

fn ended(run: Result<bool, String>) -> ExitCode {
    match run {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Does one thing of ours for some seconds and nothing else, for a profiler to look at.
fn repeat(work: &str) -> ExitCode {
    match repeated(work) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn repeated(work: &str) -> Result<(), String> {
    let library = Library::find()?;
    let messages = inputs::messages()?;
    let texts: Vec<&str> = library.documents.iter().map(|document| document.text.as_str()).collect();
    let effort = Effort { samples: 1, at_least: 4e9 };
    let nanoseconds = match work {
        "load" => clock::one(effort, || texts.iter().filter(|text| Ours::load(text).is_ok()).count()),
        "library" => {
            let mut ours: Indicators<Ours> = Vec::new();
            for document in texts.iter().filter_map(|text| Ours::load(text).ok()) {
                ours.extend(Ours::indicators(&document)?);
            }
            clock::one(effort, || evaluate_all::<Ours>(&ours, &messages))
        }
        _ => return Err(format!("`{work}` is neither `load` nor `library`")),
    };
    println!("{work}: {:.1} µs", nanoseconds / 1e3);
    Ok(())
}

fn run(effort: Effort, quick: bool) -> Result<bool, String> {
    let library = Library::find()?;
    let messages = inputs::messages()?;
    let mut table = Table::default();
    loading(effort, &library, &mut table);
    small(effort, &messages, &mut table)?;
    whole_library(effort, &library, &messages, &mut table)?;
    flows::measure(quick, &mut table)?;
    rulesets::measure(quick, &mut table)?;
    hostile::measure(&mut table)?;
    if !library.official {
        table.note("SORTIE_FIXTURES is not set: these are our own documents, not those the bars were set on");
    }
    print!("{table}");
    Ok(table.all_bars_met())
}

/// Loading every document of the library, and reading nothing but its YAML events.
fn loading(effort: Effort, library: &Library, table: &mut Table) {
    let mut texts = Vec::new();
    for document in &library.documents {
        match (Rival::load(&document.text), Ours::load(&document.text)) {
            (Ok(_), Ok(_)) => texts.push(document.text.as_str()),
            (Err(_), Err(_)) => table.note(&format!("{} is refused by both", document.name)),
            (Ok(_), Err(error)) => table.fail(&format!("{} is refused by us alone: {error}", document.name)),
            (Err(error), Ok(_)) => {
                table.note(&format!("{} is refused by the rival alone: {error}", document.name));
            }
        }
    }
    let load = |text: &&str| Ours::load(text).is_ok();
    let (rival, ours) = both(
        effort,
        || texts.iter().filter(|text| Rival::load(text).is_ok()).count(),
        || texts.iter().filter(|text| load(text)).count(),
    );
    let name = format!("load, {} documents", texts.len());
    if library.official {
        table.bar(&name, rival / ours, 3.0);
    } else {
        table.without_bar(&name, rival / ours);
    }
    let (ours, bare) = both(
        effort,
        || texts.iter().filter(|text| load(text)).count(),
        || texts.iter().map(|text| limit::events(text)).sum::<usize>(),
    );
    table.limit("load, over raw YAML events", ours / bare);
}

/// One indicator on one message, many times.
fn small(effort: Effort, messages: &[Message], table: &mut Table) -> Result<(), String> {
    let message = |name: &str| -> Result<&Value, String> {
        let found = messages.iter().find(|message| message.name == name);
        found.map(|message| &message.value).ok_or_else(|| format!("there is no message `{name}`"))
    };
    let mail = message("mcp_send_email_benign")?;
    let tools = message("mcp_list_of_20_tools")?;
    let rival = Rival::indicators(&Rival::load(inputs::INDICATORS)?)?;
    let rows = [
        ("contains", 0, mail, 15.0),
        ("regex", 1, mail, 200.0),
        ("CEL, small", 2, mail, 20.0),
        ("CEL, on a list of 20 tools", 3, tools, 6.0),
    ];
    let ours = match Ours::indicators(&Ours::load(inputs::INDICATORS)?) {
        Ok(ours) => ours,
        Err(reason) => {
            for (name, _, _, bar) in rows {
                table.unmeasured(name, bar, &reason);
            }
            return Ok(());
        }
    };
    for (name, at, message, bar) in rows {
        let (rival, ours) = (&rival[at].1, &ours[at].1);
        if Rival::indicator(rival, message) != Ours::indicator(ours, message) {
            table.fail(&format!("{name}: the verdicts differ"));
        }
        let (rival, ours) = if name.starts_with("CEL") {
            both(effort, || Rival::expression(rival, message), || Ours::expression(ours, message))
        } else {
            both(effort, || Rival::pattern(rival, message), || Ours::pattern(ours, message))
        };
        table.bar(name, rival / ours, bar);
    }

    let text = mail["arguments"]["body"].as_str().unwrap_or_default();
    let finder = memchr::memmem::Finder::new("canary-4c1d");
    let (full, bare) =
        both(effort, || Ours::pattern(&ours[0].1, mail), || finder.find(text.as_bytes()).is_some());
    table.limit("contains, over memmem on the text", full / bare);
    let regex = regex::Regex::new(r"(revenue|\$[0-9]+\.?[0-9]*M|margin) forecast")
        .map_err(|error| error.to_string())?;
    let (full, bare) = both(effort, || Ours::pattern(&ours[1].1, mail), || regex.is_match(text));
    table.limit("regex, over a bare match on the text", full / bare);
    Ok(())
}

/// Every indicator of the library on every message.
fn whole_library(
    effort: Effort,
    library: &Library,
    messages: &[Message],
    table: &mut Table,
) -> Result<(), String> {
    let mut rival: Indicators<Rival> = Vec::new();
    let mut ours: Result<Indicators<Ours>, String> = Ok(Vec::new());
    for document in &library.documents {
        let (Ok(theirs), Ok(mine)) = (Rival::load(&document.text), Ours::load(&document.text)) else {
            continue;
        };
        rival.extend(Rival::indicators(&theirs)?);
        ours = ours.and_then(|mut ours| {
            ours.extend(Ours::indicators(&mine)?);
            Ok(ours)
        });
    }
    let name = format!("{} library indicators × {} messages", rival.len(), messages.len());
    let bare = limit::BareMatch::prepare(&rival, messages);
    let ours = match ours {
        Ok(ours) => ours,
        Err(reason) => {
            table.unmeasured(&name, 200.0, &reason);
            return Ok(());
        }
    };
    let (theirs, mine) =
        both(effort, || evaluate_all::<Rival>(&rival, messages), || evaluate_all::<Ours>(&ours, messages));
    if library.official {
        table.bar(&name, theirs / mine, 200.0);
    } else {
        table.without_bar(&name, theirs / mine);
    }
    let (mine, bare) = both(
        effort,
        || evaluate_all::<Ours>(&ours, messages),
        || bare.iter().map(limit::BareMatch::count).sum::<usize>(),
    );
    table.limit("the same, over bare matches on resolved texts", mine / bare);

    let comparison = equal::compare::<Rival, Ours>(&rival, &ours, messages, library.official);
    table.note("indicators: `evaluate_indicator` against our compiled `evaluate`, both with their evidence;");
    table.note(
        "one by one: `evaluate_pattern`, `evaluate_expression` against our compiled `is_match`: a boolean",
    );
    table.note(&format!(
        "{} verdicts compared, {} matched; the rival is wrong on {}",
        comparison.pairs, comparison.matched, comparison.explained
    ));
    for line in &comparison.reasons {
        table.note(line);
    }
    for line in &comparison.unexplained {
        table.fail(line);
    }
    Ok(())
}

fn evaluate_all<S: Subject>(indicators: &[(String, S::Indicator)], messages: &[Message]) -> usize {
    let pairs =
        indicators.iter().flat_map(|(_, indicator)| messages.iter().map(move |message| (indicator, message)));
    pairs
        .filter(|(indicator, message)| S::indicator(indicator, &message.value) == subject::Outcome::Matched)
        .count()
}
