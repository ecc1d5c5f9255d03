//! What the template is given.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io;

use serde::Serialize;
use sortie_detect::rate::Rate;
use sortie_detect::{CaseInfo, CaseResult, Outcome, Standing};
use sortie_evaluators::Severity;
use sortie_oatf::model::IndicatorResult;

use super::HtmlOptions;
use super::coverage::CoverageView;
use super::details::{Section, Sources, command_line, kept_messages, sections};
use super::matrix::MatrixView;
use super::pack::packed;
use super::plots::{Cells, Flips, RateBar, RatePlot};
use super::story::{Story, cut};
use super::summary::{Summary, percent};
use crate::grouping::{GroupedFinding, Grouping};
use crate::human::{coverage, models_text, sandbox_text, title, why_undecided};
use crate::text::{counted, line};
use crate::{Report, SuiteTable, words};

/// The details of so many cases are compressed together.
const CHUNK: usize = 32;
/// So many cases are in a plot with names.
const NAMED: usize = 15;
/// So many cases are listed. A browser that has to lay out more is slow, and nobody reads them.
const LISTED: usize = 1_500;
/// So many names are in a list of names.
const LINES: usize = 500;
/// So many rates are drawn.
const DRAWN: usize = 960;
/// So much of a name or a reason stands in a row.
const SHORT: usize = 240;

/// The page.
#[derive(Debug, Serialize)]
pub(super) struct PageView {
    summary: Summary,
    /// Weaknesses of a server, each once.
    findings: Vec<FindingView>,
    /// Tools that never worked: their names, and why.
    unusable: Vec<(String, String)>,
    tiles: Vec<Tile>,
    filters: Vec<Filter>,
    rates: Option<RatesView>,
    flips: Option<FlipsView>,
    matrix: Option<MatrixView>,
    rows: Vec<Row>,
    /// Which cases have no row, and where they are.
    not_listed: Option<String>,
    unfinished: Listed<String>,
    not_played: usize,
    coverage: Option<CoverageView>,
    suites: Vec<SuiteView>,
    severities: Vec<SeverityRow>,
    models: Option<String>,
    sandbox: Option<String>,
    /// Cases that only the baseline knows.
    gone: Listed<(String, &'static str)>,
    command: Option<String>,
    left_out: Option<String>,
}

/// A weakness of a server.
#[derive(Debug, Serialize)]
struct FindingView {
    title: String,
    severity: &'static str,
    /// The case that is shown.
    case: String,
    entries: Vec<(&'static str, String)>,
}

impl FindingView {
    fn of(finding: &GroupedFinding<'_>) -> Self {
        let mut entries = Vec::new();
        if let Some(found) = finding.evidence {
            let text = found.text.as_deref().unwrap_or_default();
            entries.push(("Proof", line(&format!("{}: {}", found.name, cut(text, SHORT)))));
        }
        entries.extend(finding.command.as_ref().map(|command| ("Reproduce", line(command))));
        entries.extend(finding.remedy.map(|remedy| ("Remedy", line(remedy))));
        entries.push(("Shown by", line(&finding.behind())));
        Self {
            title: line(&finding.title()),
            severity: finding.severity.map_or("", Severity::as_str),
            case: line(finding.cases[0]),
            entries,
        }
    }
}

/// The first of several things, and how many more there are.
#[derive(Debug, Serialize)]
struct Listed<T> {
    items: Vec<T>,
    more: usize,
}

impl<T> Listed<T> {
    fn new(mut items: Vec<T>, most: usize) -> Self {
        let more = items.len().saturating_sub(most);
        items.truncate(most);
        Self { items, more }
    }
}

/// What the script reads when it is looked at, in base64.
#[derive(Debug)]
pub(super) struct Packs {
    /// Details of cases.
    pub(super) chunks: Vec<String>,
    /// Traces.
    pub(super) stories: Vec<String>,
}

/// How many cases there are of a sort.
#[derive(Debug, Serialize)]
struct Tile {
    label: String,
    word: &'static str,
    count: usize,
    meaning: &'static str,
}

/// A choice among the cases.
#[derive(Debug, Serialize)]
struct Filter {
    key: &'static str,
    label: &'static str,
    choices: Vec<(String, usize)>,
}

/// A case, in one line.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    id: String,
    name: String,
    /// What it is shown as.
    word: String,
    result: &'static str,
    standing: &'static str,
    severity: String,
    kind: &'static str,
    why: String,
    baseline: Option<(&'static str, &'static str)>,
    rate: Option<RateBar>,
    cells: Option<Cells>,
    /// Where its details are: which chunk, and which of that.
    chunk: Option<usize>,
    at: usize,
}

/// The rates with their intervals, the highest first.
#[derive(Debug, Serialize)]
struct RatesView {
    top: Vec<(String, RateBar)>,
    more: usize,
    plot: Option<RatePlot>,
    /// One of so many rates is drawn.
    step: usize,
}

/// Cases whose attempts do not agree.
#[derive(Debug, Serialize)]
struct FlipsView {
    sentence: String,
    cases: Vec<(String, Option<Cells>)>,
    more: usize,
}

/// The coverage of a suite.
#[derive(Debug, Serialize)]
struct SuiteView {
    table: SuiteTable,
    /// Whether the same counts stand in the tables of all cases.
    is_counted: bool,
    coverage: Vec<String>,
}

/// The cases of a severity.
#[derive(Debug, Serialize)]
struct SeverityRow {
    severity: &'static str,
    counts: crate::CaseCounts,
}

impl PageView {
    pub(super) fn of(report: &Report, options: &HtmlOptions<'_>) -> io::Result<(Self, Packs)> {
        let mut runs: Vec<&Outcome> = report.runs.iter().collect();
        // The worst first: what was found, what is not known, what is well.
        runs.sort_by_key(|run| (Reverse(rank(run.standing)), severity_rank(run), Reverse(hits(run))));
        let all = runs.clone();
        runs.truncate(LISTED);
        let coverage = CoverageView::of(report, options.rules);
        let mut stories = Stories::new(options);
        let shown: Vec<Option<Story>> =
            runs.iter().map(|run| stories.shown(run)).collect::<Result<_, _>>()?;
        stories.add_attempts(&runs)?;
        let command = (!options.command.is_empty()).then(|| command_line(options.command));
        let mut rows: Vec<Row> = runs.iter().map(|run| Row::of(run, report)).collect();
        let mut chunks = Chunks::new(options.max_details);
        for (at, runs) in runs.chunks(CHUNK).enumerate() {
            let details = runs.iter().zip(&shown[at * CHUNK..]).map(|(run, story)| {
                sections(&Sources {
                    run,
                    baseline: report.baseline.get(&run.id),
                    story: story.as_ref(),
                    number: &|trace| stories.numbers.get(trace).copied(),
                    command: command.as_deref(),
                    evaluators: report.run.as_ref().map_or(&[], |run| &run.evaluators),
                })
            });
            chunks.add(&details.collect::<Vec<_>>(), &mut rows[at * CHUNK..])?;
        }
        let left_out = notes(&rows, stories.left_out);
        let grouping = Grouping::of(report);
        let unusable = grouping.unusable.iter().map(|tool| (line(&tool.tools.join(", ")), line(tool.why)));
        let view = Self {
            summary: Summary::of(report, options.allow_skipped),
            findings: grouping.findings.iter().map(FindingView::of).collect(),
            unusable: unusable.collect(),
            tiles: tiles(report),
            filters: filters(&rows),
            rates: RatesView::of(&all),
            flips: Flips::of(&report.runs).map(|flips| FlipsView::of(&flips)),
            matrix: MatrixView::of(report, options, &runs),
            rows,
            not_listed: not_listed(&all[runs.len()..]),
            not_played: report.unfinished.len(),
            unfinished: Listed::new(report.unfinished.iter().map(|id| short(id)).collect(), LINES),
            suites: report
                .suites
                .iter()
                .map(|table| SuiteView::of(table, report, coverage.is_some()))
                .collect(),
            coverage,
            severities: severities(report),
            models: report.models.as_ref().map(models_text).transpose()?,
            sandbox: report.sandbox.as_ref().map(sandbox_text).transpose()?,
            gone: Listed::new(gone(report), LINES),
            command,
            left_out,
        };
        Ok((view, Packs { chunks: chunks.packs, stories: stories.packs }))
    }
}

/// The traces in the page.
struct Stories<'s> {
    options: &'s HtmlOptions<'s>,
    packs: Vec<String>,
    numbers: HashMap<String, usize>,
    bytes: usize,
    /// Whether one did not fit. Then no other is read for the page alone: there may be thousands.
    is_full: bool,
    left_out: usize,
}

impl<'s> Stories<'s> {
    fn new(options: &'s HtmlOptions<'s>) -> Self {
        Self { options, packs: Vec::new(), numbers: HashMap::new(), bytes: 0, is_full: false, left_out: 0 }
    }

    /// The trace of the attempt that is shown, which is read in any case, and in the page if there is room.
    fn shown(&mut self, run: &Outcome) -> io::Result<Option<Story>> {
        let Some(trace) = &run.trace else { return Ok(None) };
        let Some(bytes) = (self.options.traces)(trace) else { return Ok(None) };
        let story = Story::read(&bytes, &kept_messages(run));
        self.add(trace, &story)?;
        Ok(Some(story))
    }

    /// The traces of the other attempts, as far as there is room: those of the worst cases first.
    fn add_attempts(&mut self, runs: &[&Outcome]) -> io::Result<()> {
        for trace in runs.iter().flat_map(|run| &run.attempts).filter_map(|attempt| attempt.trace.as_ref()) {
            if self.numbers.contains_key(trace) {
                continue;
            }
            if self.is_full {
                self.left_out += 1;
            } else if let Some(bytes) = (self.options.traces)(trace) {
                self.add(trace, &Story::read(&bytes, &[]))?;
            }
        }
        Ok(())
    }

    fn add(&mut self, trace: &str, story: &Story) -> io::Result<()> {
        if self.numbers.contains_key(trace) {
            return Ok(());
        }
        let pack = packed(story)?;
        if self.is_full || self.bytes + pack.len() > self.options.max_traces {
            self.is_full = true;
            self.left_out += 1;
            return Ok(());
        }
        self.bytes += pack.len();
        self.numbers.insert(trace.to_owned(), self.packs.len());
        self.packs.push(pack);
        Ok(())
    }
}

/// The details of cases, a few at a time, so that a browser reads what is looked at.
struct Chunks {
    packs: Vec<String>,
    bytes: usize,
    most: usize,
}

impl Chunks {
    fn new(most: usize) -> Self {
        Self { packs: Vec::new(), bytes: 0, most }
    }

    /// Adds the details of these rows, if there is room for them.
    fn add(&mut self, details: &[Vec<Section>], rows: &mut [Row]) -> io::Result<()> {
        let pack = packed(&details)?;
        if self.bytes + pack.len() > self.most {
            return Ok(());
        }
        for (at, row) in rows.iter_mut().take(details.len()).enumerate() {
            (row.chunk, row.at) = (Some(self.packs.len()), at);
        }
        self.bytes += pack.len();
        self.packs.push(pack);
        Ok(())
    }
}

/// What is not in the page.
fn notes(rows: &[Row], stories: usize) -> Option<String> {
    let details = rows.iter().filter(|row| row.chunk.is_none()).count();
    let mut left_out = Vec::new();
    if details > 0 {
        left_out.push(counted(details, "case without its details", "cases without their details"));
    }
    if stories > 0 {
        left_out.push(counted(stories, "trace", "traces"));
    }
    (!left_out.is_empty()).then(|| {
        format!(
            "Left out to keep this page small: {}. The folder of the run has everything.",
            left_out.join(", ")
        )
    })
}

/// How many cases have no row, of which sort they are, and where they are.
fn not_listed(runs: &[&Outcome]) -> Option<String> {
    let mut sorts: BTreeMap<Reverse<u8>, (&str, usize)> = BTreeMap::new();
    for run in runs {
        sorts.entry(Reverse(rank(run.standing))).or_insert((standing_word(run.standing), 0)).1 += 1;
    }
    let sorts: Vec<_> =
        sorts.values().map(|(word, count)| format!("{count} {}", word.replace('_', " "))).collect();
    (!runs.is_empty()).then(|| {
        format!(
            "{} not listed, to keep this page quick: {}. The worst {LISTED} are listed. The counts, the plots and the coverage are \
             about all cases; `sortie report RUN --format json` has every case.",
            counted(runs.len(), "more case is", "more cases are"),
            sorts.join(", ")
        )
    })
}

impl Row {
    fn of(run: &Outcome, report: &Report) -> Self {
        let name = match &run.case {
            CaseInfo::Document { document } => {
                title(document).strip_prefix(&run.id).unwrap_or(&document.name).to_owned()
            }
            CaseInfo::Evaluator { .. } => String::new(),
        };
        let note = report.baseline.get(&run.id);
        Self {
            id: short(&run.id),
            name: short(name.trim()),
            word: match run.verdict.result {
                CaseResult::Partial => CaseResult::Partial.to_string(),
                _ => standing_word(run.standing).replace('_', " "),
            },
            result: run.verdict.result.as_str(),
            standing: standing_word(run.standing),
            severity: run.verdict.severity.map_or(String::new(), |severity| severity.to_string()),
            kind: if run.document().is_some() { "document" } else { "evaluator" },
            why: short(&why(run)),
            baseline: note.map(|note| (note.state.as_str(), words::of_state(note.state))),
            rate: run.rate.as_ref().map(RateBar::of),
            cells: Cells::of(&run.attempts),
            chunk: None,
            at: 0,
        }
    }
}

/// What a case counts as; what does not apply counts as nothing.
pub(super) fn standing_word(standing: Option<Standing>) -> &'static str {
    standing.map_or("not_applicable", Standing::as_str)
}

/// Why the case came to what it did, as short as possible.
fn why(run: &Outcome) -> String {
    if let Some((_, why)) = why_undecided(run) {
        return why;
    }
    let mut matched =
        run.verdict.indicator_verdicts.iter().filter(|one| one.result == IndicatorResult::Matched);
    let described = matched.find_map(|one| one.description.as_deref());
    described.or(run.verdict.reason.as_deref()).unwrap_or_default().trim().to_owned()
}

pub(super) fn rank(standing: Option<Standing>) -> u8 {
    match standing {
        Some(Standing::Exploited) => 4,
        Some(Standing::Undecided) => 3,
        Some(Standing::Skipped) => 2,
        Some(Standing::Resisted) => 1,
        None => 0,
    }
}

/// Severities are ordered from worst to best; cases without one come last.
fn severity_rank(run: &Outcome) -> (bool, Option<Severity>) {
    (run.verdict.severity.is_none(), run.verdict.severity)
}

fn hits(run: &Outcome) -> u32 {
    run.rate.map_or(0, |rate| rate.hits)
}

pub(super) fn short(text: &str) -> String {
    cut(&line(text), SHORT)
}

/// How many cases count as what, in the words of the rows.
fn tiles(report: &Report) -> Vec<Tile> {
    let kinds = [
        (Some(Standing::Exploited), "a standing"),
        (Some(Standing::Undecided), "a standing"),
        (Some(Standing::Skipped), "a standing"),
        (Some(Standing::Resisted), "a standing"),
        (None, "a result"),
    ];
    let tiles = kinds.map(|(standing, kind)| {
        let word = standing_word(standing);
        let meaning = words::find(word).into_iter().find(|known| known.kind == kind);
        let count = report.runs.iter().filter(|run| run.standing == standing).count();
        Tile { label: word.replace('_', " "), word, count, meaning: meaning.map_or("", |known| known.text) }
    });
    tiles.into_iter().filter(|tile| tile.count > 0).collect()
}

fn filters(rows: &[Row]) -> Vec<Filter> {
    type Choice = fn(&Row) -> String;
    let keys: [(&str, &str, Choice); 5] = [
        ("standing", "Counts as", |row| row.standing.to_owned()),
        ("result", "Result", |row| row.result.to_owned()),
        ("severity", "Severity", |row| row.severity.clone()),
        ("kind", "Kind", |row| row.kind.to_owned()),
        ("baseline", "Baseline", |row| row.baseline.map_or("", |(word, _)| word).to_owned()),
    ];
    let filters = keys.map(|(key, label, choice)| {
        let mut counts: Vec<(String, usize)> = Vec::new();
        for word in rows.iter().map(choice).filter(|word| !word.is_empty()) {
            match counts.iter_mut().find(|(known, _)| *known == word) {
                Some((_, count)) => *count += 1,
                None => counts.push((word, 1)),
            }
        }
        Filter { key, label, choices: counts }
    });
    filters.into_iter().filter(|filter| !filter.choices.is_empty()).collect()
}

impl RatesView {
    fn of(runs: &[&Outcome]) -> Option<Self> {
        let mut rates: Vec<(&Rate, &str)> =
            runs.iter().filter_map(|run| Some((run.rate.as_ref()?, run.id.as_str()))).collect();
        let share = |rate: &Rate| rate.counts().rate().unwrap_or(-1.0);
        rates.sort_by(|(one, _), (other, _)| {
            share(other).total_cmp(&share(one)).then(other.exact.low.total_cmp(&one.exact.low))
        });
        let step = rates.len().div_ceil(DRAWN).max(1);
        let plot = (rates.len() > NAMED)
            .then(|| RatePlot::of(&rates.iter().step_by(step).map(|(rate, _)| *rate).collect::<Vec<_>>()));
        let more = rates.len().saturating_sub(NAMED);
        let top: Vec<_> = rates.iter().take(NAMED).map(|(rate, id)| (short(id), RateBar::of(rate))).collect();
        (!top.is_empty()).then_some(Self { top, more, plot, step })
    }
}

impl FlipsView {
    fn of(flips: &Flips<'_>) -> Self {
        let sentence = format!(
            "{} of {} changed their result between attempts. Two single attempts at the same case disagree in {} of pairs.",
            flips.cases.len(),
            counted(flips.of, "case", "cases"),
            percent(flips.disagreement)
        );
        let cases = flips.cases.iter().take(NAMED);
        Self {
            sentence,
            cases: cases.map(|run| (short(&run.id), Cells::of(&run.attempts))).collect(),
            more: flips.cases.len().saturating_sub(NAMED),
        }
    }
}

impl SuiteView {
    /// `has_coverage` says that the page has tables of all cases. A suite that is the whole run is not counted a second time.
    fn of(table: &SuiteTable, report: &Report, has_coverage: bool) -> Self {
        let mut table = table.clone();
        let is_counted = has_coverage && table.totals.cases == report.runs.len() + report.unfinished.len();
        (table.suite, table.name) = (short(&table.suite), short(&table.name));
        for framework in &mut table.frameworks {
            framework.name = short(&framework.name);
            for entry in &mut framework.entries {
                entry.entry = short(&entry.entry);
                entry.name = entry.name.as_deref().map(short);
            }
        }
        let coverage = table.frameworks.iter().map(|framework| line(&coverage(framework))).collect();
        Self { table, is_counted, coverage }
    }
}

/// The cases by how bad it is when the agent gives in.
fn severities(report: &Report) -> Vec<SeverityRow> {
    let mut counts: BTreeMap<(bool, Option<Severity>), crate::CaseCounts> = BTreeMap::new();
    for run in &report.runs {
        counts.entry(severity_rank(run)).or_default().add(run.standing);
    }
    let rows = counts.into_iter().map(|((_, severity), counts)| SeverityRow {
        severity: severity.map_or("none given", Severity::as_str),
        counts,
    });
    rows.collect()
}

/// Cases that the baseline names and the run does not have.
fn gone(report: &Report) -> Vec<(String, &'static str)> {
    let played: std::collections::HashSet<&str> = report.runs.iter().map(|run| run.id.as_str()).collect();
    let gone = report.baseline.iter().filter(|(id, _)| !played.contains(id.as_str()));
    gone.map(|(id, note)| (short(id), note.state.as_str())).collect()
}
