//! What is known of targets before anything is played: what evaluators do to theirs, and which documents a server cannot be
//! attacked with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sortie_engine::cases::{
    CONTROL_CALLS, ControlCalls, DISCOVERY, Discovery, Missing, Planned, PlayOptions, call_controls,
    discover, needs_file, plan,
};
use sortie_engine::modes;
use sortie_engine::targets::{Offer, Target, TargetError};
use sortie_evaluators::SANDBOX_PREFIX;
use sortie_probe::KnownValues;
use sortie_report::files::FileError;

use crate::sandbox::RunSandbox;
use crate::{DocumentCase, Probing, SelectedEvaluators, SetupError, UnplayedDocument};

/// What evaluators attack, and what they do to it.
pub(crate) struct PlannedTarget {
    pub(crate) target: Target,
    pub(crate) discovery: Discovery,
    pub(crate) planned: Vec<Planned>,
    /// What came of harmless calls of its tools, where some were made.
    pub(crate) controls: Option<Arc<ControlCalls>>,
}

/// Where harmless calls of the tools of a server are from.
pub(crate) enum ControlSource {
    /// They are made.
    Live,
    /// They were made in this run, and are not made again.
    Recorded(PathBuf),
    /// There are none.
    Nowhere,
}

impl ControlSource {
    /// The calls that a run has recorded, where it has.
    pub(crate) fn recorded(run: &Path) -> Option<Self> {
        let path = run.join(CONTROL_CALLS);
        path.exists().then_some(Self::Recorded(path))
    }
}

/// A target that has said what it offers.
pub(crate) struct DiscoveredTarget {
    target: Target,
    discovery: Discovery,
}

impl DiscoveredTarget {
    /// Looks at a target. `None` when the user does not want to wait for it.
    pub(crate) async fn new(target: Target, options: &PlayOptions) -> Result<Option<Self>, SetupError> {
        let looking = discover(&target, DISCOVERY, options);
        let Some(discovery) = options.end.run_until_cancelled(looking).await else {
            return Ok(None);
        };
        let mut discovery = discovery.map_err(|error| not_discovered(&error, options))?;
        discovery.offer.http = target.http_access();
        Ok(Some(Self { target, discovery }))
    }
}

fn not_discovered(error: &TargetError, options: &PlayOptions) -> SetupError {
    SetupError::NotDiscovered(options.redactor.text(&error.to_string()).into_owned())
}

impl PlannedTarget {
    /// Calls the tools of a target harmlessly, and plans. `None` when the user does not want to wait for it.
    pub(crate) async fn new(
        evaluators: &SelectedEvaluators,
        DiscoveredTarget { target, mut discovery }: DiscoveredTarget,
        options: &PlayOptions,
        missing: Missing,
        (probing, sandbox, source): (&Probing, &RunSandbox, ControlSource),
    ) -> Result<Option<Self>, SetupError> {
        let known = KnownValues { fixtures: probing.fixtures.clone(), places: sandbox.places(), page: None };
        let controls = match source {
            ControlSource::Live if target.can_be_called() => {
                let calls = call_controls(&target, &discovery, known, options);
                match options.end.run_until_cancelled(calls).await {
                    Some(calls) => Some(calls.map_err(|error| not_discovered(&error, options))?),
                    None => return Ok(None),
                }
            }
            ControlSource::Recorded(path) => {
                let read = ControlCalls::read(&path, &discovery, known);
                Some(read.map_err(|error| FileError::io(&path, "read", error))?)
            }
            ControlSource::Live | ControlSource::Nowhere => None,
        };
        if let Some(calls) = &controls {
            discovery.offer.controls.clone_from(&calls.controls);
        }
        let mut values = evaluators.values.clone();
        values.extend(sandbox.values.clone());
        let mut planned = plan(&evaluators.entries(), &discovery.offer, target.kind(), &values, missing)
            .map_err(|error| SetupError::usage(error.to_string()))?;
        if sandbox.values.is_empty() {
            leave_sandbox(&mut planned);
            if !probing.network_payloads {
                leave_network(&mut planned);
            }
        }
        if let Some(run) = &probing.changed_since {
            leave_unchanged(&mut planned, &discovery, run)?;
        }
        if probing.beside.is_empty() {
            leave_comparisons(&mut planned);
        }
        for run in &probing.beside {
            discovery.add_beside(earlier_discovery("--beside", run)?);
        }
        Ok(Some(Self { target, discovery, planned, controls: controls.map(Arc::new) }))
    }

    /// Whether a case of this evaluator is played.
    pub(crate) fn plays(&self, evaluator: &str) -> bool {
        self.planned
            .iter()
            .any(|planned| matches!(planned, Planned::Ready(case) if case.rubric.evaluator.id == evaluator))
    }
}

/// The tag of evaluators that send a server addresses of other machines.
const NETWORK: &str = "network-payload";

/// Takes out the cases that would make a server connect to another machine.
fn leave_network(planned: &mut [Planned]) {
    for planned in planned {
        let Planned::Ready(case) = planned else { continue };
        if case.rubric.evaluator.tags.iter().any(|tag| tag == NETWORK) {
            let reason = "it makes the server connect to other machines: `--sandbox` keeps that inside, and `--allow-network-payloads` allows it";
            let (id, rubric, reason) = (case.id.clone(), case.rubric.clone(), reason.to_owned());
            *planned = Planned::NotApplicable { id, rubric, reason };
        }
    }
}

/// Takes out the cases that are about what a sandbox holds.
fn leave_sandbox(planned: &mut [Planned]) {
    let is_in_sandbox = |name: &str| name.starts_with(SANDBOX_PREFIX);
    for planned in planned {
        let needs_sandbox = match &*planned {
            Planned::Ready(case) => {
                case.template.placeholders().iter().any(|name| is_in_sandbox(name))
                    || case.rubric.checks.placeholders().iter().any(|name| is_in_sandbox(name))
            }
            Planned::Skipped { missing, .. } => missing.iter().any(|name| is_in_sandbox(name)),
            Planned::NotApplicable { .. } => false,
        };
        if needs_sandbox {
            let (id, rubric) = (planned.id().to_owned(), planned.rubric().clone());
            let reason = "it needs what a sandbox holds: `--sandbox`".to_owned();
            *planned = Planned::NotApplicable { id, rubric, reason };
        }
    }
}

/// The tag of evaluators that compare a server with others which the same client uses.
const OTHER_SERVERS: &str = "other-servers";

/// Takes out the cases that compare the list of tools with those of other servers.
fn leave_comparisons(planned: &mut [Planned]) {
    for planned in planned {
        let Planned::Ready(case) = planned else { continue };
        if case.rubric.evaluator.tags.iter().any(|tag| tag == OTHER_SERVERS) {
            let reason = "it compares the tools with those of another server: `--beside RUN` names a run against that one";
            let (id, rubric, reason) = (case.id.clone(), case.rubric.clone(), reason.to_owned());
            *planned = Planned::NotApplicable { id, rubric, reason };
        }
    }
}

/// What the server of another run offered; `option` names the run.
fn earlier_discovery(option: &str, run: &Path) -> Result<Discovery, SetupError> {
    let path = run.join(DISCOVERY);
    Discovery::read(&path).map_err(|error| {
        SetupError::usage(format!("`{option}`: `{}`: {error}", path.display()))
            .with_help("name the folder of a run that attacked a server with evaluators")
    })
}

/// Takes out the cases of tools whose listing is that of an earlier run.
fn leave_unchanged(planned: &mut [Planned], now: &Discovery, run: &Path) -> Result<(), SetupError> {
    let before = earlier_discovery("--changed-since", run)?;
    let is_unchanged = |name: &str| {
        let of =
            |offer: &Offer| offer.tools.iter().filter(|tool| tool.name == name).cloned().collect::<Vec<_>>();
        of(&before.offer) == of(&now.offer)
    };
    let all_unchanged = before.offer.tools == now.offer.tools;
    for planned in planned {
        let Planned::Ready(case) = planned else { continue };
        if case.tool().map_or(all_unchanged, is_unchanged) {
            let what =
                case.tool().map_or("the list of tools".to_owned(), |tool| format!("the listing of `{tool}`"));
            let reason = format!("not needed: {what} is that of `{}`", run.display());
            let (id, rubric) = (case.id.clone(), case.rubric.clone());
            *planned = Planned::NotApplicable { id, rubric, reason };
        }
    }
    Ok(())
}

/// A server that was looked at. Several documents may attack one.
pub(crate) struct Looked {
    at: modes::Endpoint,
    /// What its trace is called.
    file: String,
    /// What it said; `None` where it could not be looked at.
    discovery: Option<Discovery>,
}

impl Looked {
    /// Keeps what a server said about itself before anything was played.
    pub(crate) fn keep(&self, folder: &Path) -> Result<(), SetupError> {
        let path = folder.join(&self.file);
        let kept = self.discovery.as_ref().map_or(Ok(()), |discovery| discovery.keep(&path));
        Ok(kept.map_err(|error| FileError::io(&path, "write", error))?)
    }
}

/// Takes out the documents whose server does not offer a tool that they need.
///
/// A server that cannot be looked at is left to the run, which says what is wrong with it; and so is one that stands behind
/// an agent of ours, since it is not there before that agent is.
pub(crate) async fn take_unplayable(
    documents: &mut Vec<DocumentCase>,
    options: &PlayOptions,
) -> (Vec<UnplayedDocument>, Vec<Looked>) {
    let mut seen = Vec::new();
    let (mut played, mut unplayed) = (Vec::new(), Vec::new());
    for case in documents.drain(..) {
        match missing_tool(&case, options, &mut seen).await {
            Some(reason) => unplayed.push(UnplayedDocument { document: case.document, reason }),
            None => played.push(case),
        }
    }
    *documents = played;
    (unplayed, seen)
}

async fn missing_tool(case: &DocumentCase, options: &PlayOptions, seen: &mut Vec<Looked>) -> Option<String> {
    if case.options.agent.is_some() {
        return None;
    }
    for need in &case.document.compiled.document().extension().needs {
        let Some(at) = case.options.targets.get(&need.actor) else { continue };
        let known = if let Some(known) = seen.iter().position(|looked| looked.at == *at) {
            known
        } else {
            let target = Target::Mcp { at: at.clone(), wire: case.options.revision(&case.document.compiled) };
            let file = needs_file(&target);
            let discovery = options.end.run_until_cancelled(discover(&target, &file, options)).await?.ok();
            seen.push(Looked { at: at.clone(), file, discovery });
            seen.len() - 1
        };
        let Some(Discovery { offer, .. }) = &seen[known].discovery else { continue };
        let is_offered = |wanted: &String| offer.tools.iter().any(|tool| tool.name == *wanted);
        if let Some(tool) = need.tools.iter().find(|tool| !is_offered(tool)) {
            return Some(format!("it needs the tool `{tool}`, and the server does not offer it"));
        }
    }
    None
}
