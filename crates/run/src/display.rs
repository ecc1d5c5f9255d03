//! Shows a run as it goes. It only consumes what happens.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use sortie_detect::rate::Rate;
use sortie_detect::{Outcome, Standing};
use sortie_engine::{RunEvent, Watcher};
use sortie_library::NamedDocument;
use sortie_oatf::model::extract_protocol;
use sortie_report::progress::{Display, State, Status, locked};
use sortie_report::{TraceView, line, outcome, rate_counts, style, visible};
use sortie_trace::{Deriver, Record};

use crate::Observer;
use crate::forecast::RunForecast;
use crate::repeats::Repeats;

/// What standard error takes.
#[derive(Clone, Copy, Debug)]
pub struct Notes {
    /// Whether a person reads it as it comes.
    pub terminal: bool,
    /// Whether it shows colours.
    pub color: bool,
    /// How wide its lines may be.
    pub width: Option<usize>,
}

/// How much is shown of a run while it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Nothing, but where to connect when nobody else tells the agent.
    Quiet,
    /// On a terminal how many cases are over, which go on, and each verdict as it falls.
    Normal,
    /// Also every message.
    Verbose,
}

/// How the agent under test comes to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connecting {
    /// Somebody starts it, and has to know where to connect.
    ByItself,
    /// The run starts it, and tells it.
    Started,
    /// The same, for each of many attempts.
    StartedOften,
}

/// What is shown of one document: where its actors listen, and every message where that is wanted.
struct Progress {
    /// The document, where there are several.
    file: Option<String>,
    /// Actors, and the protocol of each.
    protocols: HashMap<String, String>,
    /// Whether somebody wants to know where actors listen.
    announces: bool,
    display: Option<Arc<Display>>,
    live: Option<Live>,
}

struct Live {
    display: Arc<Display>,
    color: bool,
    width: Option<usize>,
    view: Mutex<(Option<TraceView>, Deriver)>,
}

impl Progress {
    fn new(document: &NamedDocument, several: bool, run: &RunDisplay) -> Self {
        let actors = document.compiled.document().attack.execution.actors.iter().flatten();
        let protocols = actors.map(|actor| (actor.name.clone(), extract_protocol(&actor.mode).to_owned()));
        let shown = run.display.as_ref().filter(|_| run.detail == Detail::Verbose);
        Self {
            file: several.then(|| document.name.clone()),
            protocols: protocols.collect(),
            announces: run.announces(),
            display: run.display.clone(),
            live: shown.map(|display| Live {
                display: display.clone(),
                color: run.notes.color,
                width: run.notes.width,
                view: Mutex::new((None, Deriver::new())),
            }),
        }
    }

    fn listening(&self, actor: &str, url: &str) {
        let protocol = self.protocols.get(actor).map_or("", String::as_str);
        let file = self.file.as_ref().map(|file| format!("  {file}")).unwrap_or_default();
        let line = format!("listening  {actor}  {protocol}  {url}{file}");
        let line = visible(&line);
        let shown = self.display.as_ref().is_some_and(|display| display.line(&line));
        if !shown {
            // When nobody reads standard error, the trace still says so.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}

impl Live {
    fn event(&self, event: &RunEvent<'_>, file: Option<&str>) {
        let text = match event {
            RunEvent::Recorded(_) | RunEvent::Matched { .. } => self.viewed(event),
            RunEvent::Warning(text) => {
                let word = style::paint(self.color, style::WARNING, "warning");
                format!("{:17}{word} {}\n", "", line(text))
            }
            RunEvent::Logged { actor, level, text } => {
                format!("{:17}{level} {}: {}\n", "", visible(actor), line(text))
            }
            _ => return,
        };
        let prefix = file.map(|file| format!("{}: ", visible(file))).unwrap_or_default();
        for line in text.lines() {
            self.display.line(&format!("{prefix}{line}"));
        }
    }

    /// What a view of the trace shows of an event.
    fn viewed(&self, event: &RunEvent<'_>) -> String {
        let (view, deriver) = &mut *locked(&self.view);
        let mut text = Vec::new();
        // Writing to memory cannot fail.
        let _ = match (event, view) {
            (RunEvent::Recorded(Record::Header(header)), view) => {
                let new = TraceView::new(self.color, self.width, false, header);
                view.insert(new).header(header, &mut text)
            }
            (RunEvent::Recorded(record), Some(view)) => {
                let observed = match record {
                    Record::Message(message) => Some(deriver.observe(message)),
                    _ => None,
                };
                view.record(record, observed, &mut text)
            }
            (RunEvent::Matched { indicator, .. }, Some(view)) => view.matched(indicator, &mut text),
            _ => Ok(()),
        };
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Watcher for Progress {
    fn event(&self, event: &RunEvent<'_>) {
        if let RunEvent::Recorded(Record::Listening(listening)) = event {
            if self.announces {
                self.listening(&listening.actor, &listening.url);
            }
        } else if let Some(live) = &self.live {
            live.event(event, self.file.as_deref());
        }
    }
}

/// Shows a run of documents and evaluators alike.
pub struct RunDisplay {
    notes: Notes,
    detail: Detail,
    agent: Connecting,
    display: Option<Arc<Display>>,
}

impl RunDisplay {
    /// Shows it on standard error.
    pub fn new(notes: Notes, detail: Detail, agent: Connecting) -> Arc<Self> {
        Self::to(io::stderr(), notes, detail, agent)
    }

    fn to(out: impl Write + Send + 'static, notes: Notes, detail: Detail, agent: Connecting) -> Arc<Self> {
        let display = match (detail, notes.terminal) {
            (Detail::Quiet, _) | (Detail::Normal, false) => None,
            (Detail::Verbose, false) => Some(Display::new(None, out)),
            (_, true) => Some(Display::new(Some(Status::new(notes.width)), out)),
        };
        Arc::new(Self { notes, detail, agent, display })
    }

    /// Whether somebody wants to know where actors listen: other programs do, people only when they have to connect.
    fn announces(&self) -> bool {
        match (self.detail, self.agent) {
            (Detail::Verbose, _) | (_, Connecting::ByItself) => true,
            (Detail::Normal, Connecting::Started) => !self.notes.terminal,
            (Detail::Normal, Connecting::StartedOften) | (Detail::Quiet, _) => false,
        }
    }

    fn update(&self, change: impl FnOnce(&mut State)) {
        if let Some(display) = &self.display {
            display.update(change);
        }
    }

    /// Waits until everything is shown. Gives how much was not.
    pub fn finish(&self) -> u64 {
        self.display.as_ref().map_or(0, |display| display.finish())
    }
}

impl Observer for RunDisplay {
    fn planned(&self, cases: usize, over: usize) {
        self.update(|state| (state.all, state.ended) = (cases, over));
    }

    fn calibrating(&self, begins: bool) {
        if let Some(display) = self.display.as_ref().filter(|_| begins && self.notes.terminal) {
            display.line("the judge is shown fixtures first, whose verdicts are known");
        }
    }

    fn controlling(&self, case: Option<&str>) {
        if let (Some(display), Some(case)) = (self.display.as_ref().filter(|_| self.notes.terminal), case) {
            display.line(&format!(
                "first the control of {case}, without the attack: does the agent do its task?"
            ));
        }
    }

    fn watcher(&self, document: &NamedDocument, several: bool) -> Arc<dyn Watcher> {
        Arc::new(Progress::new(document, several, self))
    }

    fn repeats(&self, repeats: &Repeats, forecast: &RunForecast) {
        if let Some(display) = self.display.as_ref().filter(|_| self.notes.terminal) {
            display.line(&forecast.lines(repeats).join("\n"));
        }
        self.update(|state| state.repeats(repeats.most()));
    }

    fn started(&self, id: &str, _attempt: Option<u32>) {
        self.update(|state| state.started(id));
    }

    fn counted(&self, id: &str, rate: &Rate, is_over: bool) {
        self.update(|state| state.counted(id, rate, is_over));
        let Some(display) = self.display.as_ref().filter(|_| is_over) else { return };
        let Some(status) = &display.status else { return };
        let (ended, all) = {
            let state = locked(&status.state);
            (state.ended, state.all)
        };
        let decision = rate.decision.map(|decision| format!("{decision}: ")).unwrap_or_default();
        display.line(&format!("{ended} of {all}: {decision}{}: {}", line(id), rate_counts(rate)));
    }

    fn finished(&self, id: &str, outcome: Option<&Outcome>) {
        let Some(display) = &self.display else { return };
        let Some(status) = &display.status else { return };
        locked(&status.state).finished(id, outcome);
        if locked(&status.state).is_repeated() {
            // What an attempt says is told with the others.
            return display.update(|_| ());
        }
        let (ended, all) = {
            let state = locked(&status.state);
            (state.ended, state.all)
        };
        // The verdict of the only case is the report, and what does not apply is listed there.
        if all > 1 && outcome.is_none_or(|outcome| outcome.standing.is_some()) {
            let verdict = outcome.map_or_else(|| "not run to its end".to_owned(), |one| self.verdict(one));
            let name = outcome.and_then(Outcome::document).map(|document| format!(" {}", document.name));
            let name = name.filter(|name| name.trim() != id).unwrap_or_default();
            display.line(&format!("{ended} of {all}: {verdict}: {}", line(&format!("{id}{name}"))));
        } else {
            display.update(|_| ());
        }
    }
}

impl RunDisplay {
    fn verdict(&self, run: &Outcome) -> String {
        let style = match run.standing {
            Some(Standing::Exploited) => style::ERROR,
            Some(Standing::Resisted) => style::NOTE,
            Some(Standing::Skipped | Standing::Undecided) | None => style::WARNING,
        };
        style::paint(self.notes.color, style, &outcome(run))
    }
}

/// Counts cases on one line of a terminal, and shows nothing else.
pub struct Counter(Arc<Display>);

impl Counter {
    /// Shows it on standard error, which is a terminal of this width.
    pub fn new(width: Option<usize>) -> Self {
        Self(Display::new(Some(Status::new(width)), io::stderr()))
    }

    /// Takes the line away.
    pub fn finish(&self) {
        self.0.finish();
    }
}

impl Observer for Counter {
    fn planned(&self, cases: usize, over: usize) {
        self.0.update(|state| (state.all, state.ended) = (cases, over));
    }

    fn started(&self, id: &str, _attempt: Option<u32>) {
        self.0.update(|state| state.started(id));
    }

    fn finished(&self, id: &str, outcome: Option<&Outcome>) {
        self.0.update(|state| state.finished(id, outcome));
    }
}

#[cfg(test)]
mod tests {
    use sortie_detect::{CaseInfo, CaseResult, DocumentInfo, EvaluatorCase, Verdict};

    use super::*;

    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<Vec<u8>>>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            locked(&self.0).write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// A document and a case of an evaluator that are played, and a document that does not apply.
    fn told(detail: Detail, terminal: bool) -> String {
        let memory = Memory::default();
        let notes = Notes { terminal, color: false, width: Some(40) };
        let display = RunDisplay::to(memory.clone(), notes, detail, Connecting::Started);
        let document = |id: &str, result| {
            let document =
                DocumentInfo { file: String::new(), id: Some(id.into()), name: "An attack".into() };
            Outcome::new(id, CaseInfo::Document { document }, Verdict::new(result, "so"), None)
        };
        let evaluator = CaseInfo::Evaluator { evaluator: EvaluatorCase::default() };
        display.planned(3, 0);
        display.finished("A-3", Some(&document("A-3", CaseResult::NotApplicable)));
        display.started("A-1", None);
        display.finished("A-1", Some(&document("A-1", CaseResult::NotExploited)));
        display.started("leak/ask", None);
        let verdict = Verdict::new(CaseResult::Exploited, "so");
        display.finished("leak/ask", Some(&Outcome::new("leak/ask", evaluator, verdict, None)));
        display.finish();
        String::from_utf8(locked(&memory.0).clone()).unwrap()
    }

    #[test]
    fn every_verdict_is_told_as_it_falls_with_how_many_there_are() {
        let text = told(Detail::Normal, true);
        // What stays on a terminal is what ends with a line break.
        let kept: Vec<_> = text.lines().filter_map(|line| line.rsplit('\r').next()).collect();
        let expected = ["1 of 2: simulated: A-1 An attack", "2 of 2: exploited: leak/ask", ""];
        assert_eq!(kept, expected, "{text:?}");
        assert!(text.contains("\r0 of 2: A-1"), "what goes on is named: {text:?}");
    }

    #[test]
    fn pipes_and_whoever_wants_it_quiet_are_told_nothing() {
        assert_eq!(told(Detail::Normal, false), "");
        assert_eq!(told(Detail::Quiet, true), "");
        assert_eq!(told(Detail::Verbose, false), "", "verdicts are in the report");
    }
}
