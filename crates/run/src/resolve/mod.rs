//! From what was asked for to what is played, and how.

mod agents;
mod call;
mod documents;
mod servers;
mod targets;
mod user_servers;
mod wrap;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use sortie_engine::cases;
use sortie_engine::modes::Address;
use sortie_engine::run::{AgentCommand, RunOptions};
use sortie_engine::targets::TargetKind;
use sortie_evaluators::Values;
use sortie_library::NamedDocument;
use sortie_oatf::model::{Actor, Mode};
use sortie_practice::NamedAgent;
use sortie_sandbox::Sandbox;
use sortie_syntax::suggestion;
use sortie_trace::{RedactRule, Redactor};

use self::agents::practice_agent;
use self::documents::{actors, check, clients, practise, reason_against};
use crate::agent_preset::AgentPreset;
use crate::controls::Controls;
use crate::environment::{BearerSpec, EnvSpec, HeaderSpec};
use crate::models::ModelSetup;
use crate::repeats::RepeatRequest;
use crate::sandbox::RunSandbox;
use crate::target::{ListenSpec, TargetPlace, TargetSettings, TargetSpec, mode};
use crate::utility::Utility;
use crate::{Campaign, Config, DocumentCase, RunLimits, RunPlace, Selected, SetupError, shell_word};

pub use self::documents::UnplayedDocument;
pub use self::user_servers::UserServers;
pub use self::wrap::WrapSpec;

/// What a run is asked to do, apart from what it plays.
#[derive(Default)]
pub struct RunRequest {
    /// The words that ask for it, to be kept with it.
    pub words: Vec<String>,
    /// The agent under test: a command, the name of a preset, `@NAME` or `builtin:NAME`.
    pub agent: Option<String>,
    /// The model of an agent that is started by a preset.
    pub agent_model: Option<String>,
    /// Environment variables that the agent inherits.
    pub env: Vec<String>,
    /// Whether the agent reads its prompt from standard input.
    pub prompt_stdin: bool,
    /// Where actors listen.
    pub listen: Vec<ListenSpec>,
    /// What is attacked.
    pub targets: Vec<TargetSpec>,
    /// Headers for targets.
    pub headers: Vec<HeaderSpec>,
    /// Bearer tokens for targets.
    pub bearers: Vec<BearerSpec>,
    /// Environment variables that targets inherit.
    pub target_env: Vec<EnvSpec>,
    /// The real servers that actors stand before, or that are only recorded.
    pub wrap: Vec<WrapSpec>,
    /// The servers that the user has configured for a client, which are offered to the agent too.
    pub with_servers: UserServers,
    /// How the target of evaluators is talked to.
    pub settings: TargetSettings,
    /// What is taken out of everything that is kept, besides credentials.
    pub redact: Vec<RedactRule>,
    /// How every document is played.
    pub documents: RunOptions,
    /// How the cases of evaluators are played.
    pub cases: cases::PlayOptions,
    /// The models that help.
    pub models: ModelSetup,
    /// Where the run is kept.
    pub place: RunPlace,
    /// How much is played at a time.
    pub limits: RunLimits,
    /// When controls are played; `None` for one before the attacks: of a document where an agent is started, and a harmless question
    /// for the target of evaluators.
    pub controls: Option<Controls>,
    /// The harmless question that the target of evaluators has to answer.
    pub control: Option<String>,
    /// What is known about the tools of a server, and which of them are attacked.
    pub probing: Probing,
    /// Start servers in a sandbox.
    pub sandbox: bool,
    /// How cases are repeated; `None` where each is played once.
    pub repeats: Option<RepeatRequest>,
    /// A command that says after each attempt whether the agent did its task.
    pub utility: Option<Utility>,
}

/// What is known about the tools of a server, and which of them are attacked.
#[derive(Clone, Debug, Default)]
pub struct Probing {
    /// Arguments with which tools work, by the name of a property or `tool.property`.
    pub fixtures: Values,
    /// Play every case, also where the others have said enough.
    pub exhaustive: bool,
    /// Also send a server addresses of other machines.
    pub network_payloads: bool,
    /// The folder of a run: only tools whose listing has changed since are attacked.
    pub changed_since: Option<PathBuf>,
    /// The folders of runs against other servers that the same client uses.
    pub beside: Vec<PathBuf>,
}

impl RunRequest {
    /// When controls are played.
    pub(crate) fn controls(&self) -> Controls {
        let live = self.place.replay.is_none();
        // Whoever connects by himself connects once, and would be gone after the control.
        let again = self.agent.is_some() || !self.targets.is_empty();
        let first = if again { Controls::First } else { Controls::Off };
        self.controls.filter(|_| live).unwrap_or(if live { first } else { Controls::Off })
    }

    /// Finds out how everything that was selected is played. Whatever does not fit is an error before anything is started, and
    /// so is whatever was asked for and is for nobody; but optional documents that do not fit are left out, and said to be.
    pub fn resolve(mut self, config: &Config, selected: Selected) -> Result<Campaign, SetupError> {
        let Selected { documents, optional_documents, evaluators } = selected;
        let attacks = evaluators.as_ref().is_some_and(|evaluators| !evaluators.is_empty());
        let sandbox = RunSandbox::prepare(&self, config)?;
        let resolver = Resolver {
            request: &self,
            config,
            sandbox: sandbox.live.as_deref(),
            evaluators: attacks,
            // A replay needs no credentials, and no agent.
            live: self.place.replay.is_none(),
        };
        if let Some(repeats) = &self.repeats {
            repeats.check()?;
            if self.documents.stdio {
                return Err(SetupError::usage(
                    "`--stdio` serves one attempt: the client that starts it repeats it",
                ));
            }
            if self.models.request.cache.is_some() && self.place.replay.is_none() {
                return Err(SetupError::usage(
                    "`--cache` cannot be combined with repeats: attempts must not share answers of models",
                )
                .with_help(
                    "leave `--cache` out; `--replay RUN` gives the same report again without models",
                ));
            }
        }
        let mut secrets = BTreeSet::new();
        resolver.check_unused(&|| documents.iter().chain(&optional_documents))?;
        // Whoever connects by himself connects once, and would be gone after the control.
        if self.controls.is_some_and(|controls| controls != Controls::Off)
            && self.agent.is_none()
            && self.targets.is_empty()
        {
            return Err(SetupError::usage("`--controls` is for what can be started or asked again")
                .with_help("name it with `--agent` or `--target`, or leave `--controls` out"));
        }
        let builtin = self.agent.as_deref().and_then(practice_agent).transpose()?;
        let agent = self.agent.as_deref().filter(|_| builtin.is_none());
        let preset = agent.map(|agent| resolver.preset(agent)).transpose()?;
        let agent = preset.as_ref().map(|preset| resolver.agent_command(preset)).transpose()?;
        let started = resolver.started_agent(builtin, preset.as_deref());
        let agents = (preset.as_deref(), agent.as_ref(), builtin);
        let targets = resolver.attacked()?;
        let target = if attacks { resolver.target_of_evaluators(&mut secrets)? } else { None };
        let control = resolver.control_of_target();
        let (mut prepared, mut unplayed) = (Vec::new(), Vec::new());
        let controlled = self.controls() == Controls::All;
        // Who connects by himself does so once.
        let is_repeatable = self.agent.is_some() || !self.targets.is_empty();
        let plays_twins = is_repeatable && self.controls != Some(Controls::Off);
        let named = documents.into_iter().map(|document| (document, true));
        let documents = named.chain(optional_documents.into_iter().map(|document| (document, false)));
        for (index, (document, is_named)) in documents.enumerate() {
            let options = resolver.options(&document, index, agents, &mut secrets);
            let options = match options {
                Err(error @ SetupError::Ambiguous { .. }) if !is_named => {
                    unplayed.push(UnplayedDocument { document, reason: error.to_string() });
                    continue;
                }
                options => options?,
            };
            if is_named {
                check(&document, &options)?;
            } else if let Some(reason) = reason_against(&document, &options)? {
                unplayed.push(UnplayedDocument { document, reason });
                continue;
            }
            let mut twin = None;
            if plays_twins && let Some(own) = document.twin()? {
                let options = resolver.options(&own, index, agents, &mut secrets)?;
                check(&own, &options)?;
                twin = Some(Box::new(DocumentCase::new(own, options)));
            }
            let controlled = controlled || twin.is_some();
            let preset = preset.clone();
            prepared.push(DocumentCase { controlled, twin, preset, ..DocumentCase::new(document, options) });
        }
        resolver.check_ports(&prepared)?;
        // Suites hold documents and evaluators: whoever plays their documents against an agent need not have a target too.
        let named = evaluators.as_ref().is_some_and(|evaluators| evaluators.named);
        if attacks && target.is_none() && (named || prepared.is_empty()) {
            return Err(SetupError::usage("evaluators need a target").with_help(
                "name it with `--target KIND=SPEC`: KIND is `mcp`, `a2a`, `ag_ui`, `chat`, `http` or `cmd`",
            ));
        }
        let credentials =
            secrets.into_iter().chain(self.models.keys.iter().cloned()).map(RedactRule::Literal);
        let redactor = Redactor::new(std::mem::take(&mut self.redact).into_iter().chain(credentials))
            .map_err(|error| SetupError::usage(error.to_string()))?;
        for case in &mut prepared {
            case.options.redactor = redactor.clone();
            if let Some(twin) = &mut case.twin {
                twin.options.redactor = redactor.clone();
            }
        }
        self.cases.redactor = redactor;
        self.control = self.control.or(control);
        self.cases.sandbox.clone_from(&sandbox.live);
        let mut fixtures = config.fixtures.clone();
        fixtures.append(&mut self.probing.fixtures);
        self.probing.fixtures = fixtures;
        let (request, documents, agent) = (self, prepared, started);
        Ok(Campaign { request, documents, unplayed, evaluators, target, agent, preset, targets, sandbox })
    }
}

/// Finds out what a request stands for.
struct Resolver<'a> {
    request: &'a RunRequest,
    config: &'a Config,
    /// Where servers are started, where that is not the host.
    sandbox: Option<&'a Sandbox>,
    /// Whether there are evaluators, which attack the target without an actor.
    evaluators: bool,
    /// Whether anything is started or sent.
    live: bool,
}

impl Resolver<'_> {
    /// What is attacked, as a report names it.
    fn attacked(&self) -> Result<Vec<String>, SetupError> {
        let targets = self.request.targets.iter().map(|asked| {
            let (kind, address) = match &asked.place {
                TargetPlace::Given(kind, address) => (*kind, address),
                TargetPlace::Named(name) | TargetPlace::Wrapped(name) => {
                    let named = self.config.target(name)?;
                    (named.kind, &named.address)
                }
            };
            let actor = asked.actor.as_ref().map(|actor| format!("{actor}=")).unwrap_or_default();
            let stdio = if kind == TargetKind::Cmd { "" } else { "stdio:" };
            Ok(match address {
                Address::Url(url) => format!("{actor}{kind}={url}"),
                Address::Stdio(command) => format!("{actor}{kind}={stdio}{}", command_line(command)),
            })
        });
        targets.collect()
    }

    /// How a document is played: where it listens, what it attacks, and who the agent is.
    fn options(
        &self,
        document: &NamedDocument,
        index: usize,
        started: (Option<&AgentPreset>, Option<&AgentCommand>, Option<NamedAgent>),
        secrets: &mut BTreeSet<String>,
    ) -> Result<RunOptions, SetupError> {
        let (preset, agent, builtin) = started;
        let mut options = self.request.documents.clone();
        options.agent = agent.cloned();
        options.workspace |= preset.is_some_and(|preset| preset.preset.workspace);
        options.listen = self.listen(document)?;
        for actor in clients(document) {
            let target = self.target(document, actor, secrets)?;
            options.targets.extend(target.map(|target| (actor.name.clone(), target)));
        }
        options.wrap = self.wrapped(document, secrets)?;
        self.add_user_servers(&mut options.wrap, secrets)?;
        if let Some(agent) = builtin {
            practise(agent, document, index, &mut options)?;
        }
        Ok(options)
    }

    /// Whether each address and each target is for an actor of some document, or for evaluators.
    fn check_unused<'d, D: Iterator<Item = &'d NamedDocument>>(
        &self,
        documents: &dyn Fn() -> D,
    ) -> Result<(), SetupError> {
        let names = |(_, is_on_it): Side| {
            let actors = documents().flat_map(actors);
            actors.filter(move |actor| is_on_it(actor)).map(|actor| actor.name.as_str())
        };
        let check = |option: &str, asked: Option<&str>, side: Side| match asked {
            Some(actor) if !names(side).any(|name| name == actor) => {
                let kind = side.0;
                let failure = SetupError::usage(format!("`{option}`: there is no {kind} actor `{actor}`"));
                Err(suggestion(actor, names(side)).into_iter().fold(failure, SetupError::with_help))
            }
            None if names(side).next().is_none() => {
                let kind = side.0;
                Err(SetupError::usage(format!("`{option}` is not used: the document has no {kind} actor")))
            }
            _ => Ok(()),
        };
        for asked in &self.request.listen {
            check("--listen", asked.actor.as_deref(), SERVER)?;
        }
        let for_evaluators = |actor: Option<&String>| actor.is_none() && self.evaluators;
        for asked in self.request.targets.iter().filter(|asked| !for_evaluators(asked.actor.as_ref())) {
            check("--target", asked.actor.as_deref(), CLIENT)?;
            let kind = self.kind(asked)?;
            let of_kind =
                |actor: &Actor| mode(kind).is_some_and(|mode| Mode::of(mode) == Mode::of(&actor.mode));
            if asked.actor.is_none() && !documents().flat_map(actors).any(of_kind) {
                let nobody = match mode(kind) {
                    Some(mode) => format!("no actor has mode `{mode}`"),
                    None => format!("only evaluators attack a target of kind `{}`", kind.as_str()),
                };
                return Err(SetupError::usage(format!("`--target {}` is not used: {nobody}", asked.text)));
            }
        }
        let others = self.request.headers.iter().map(|asked| ("--target-header", &asked.actor));
        let others = others.chain(self.request.bearers.iter().map(|asked| ("--target-bearer", &asked.actor)));
        let others = others.chain(self.request.target_env.iter().map(|asked| ("--target-env", &asked.actor)));
        let with = &self.request.with_servers;
        let is_wrapped = |name: &str| {
            self.request.wrap.iter().any(|asked| asked.is(name))
                || self.config.has_wrap(name)
                || with.has(name)
        };
        let others = others.filter(|(option, actor)| match actor {
            Some(name) => !is_wrapped(name),
            // It may be for any server of the user.
            None => *option != "--target-env" || with.is_empty(),
        });
        for (option, actor) in others.filter(|(_, actor)| !for_evaluators(actor.as_ref())) {
            check(option, actor.as_deref(), CLIENT)?;
        }
        let is_given =
            [("--env", !self.request.env.is_empty()), ("--agent-model", self.request.agent_model.is_some())];
        if let Some((option, _)) = is_given.iter().find(|(_, given)| *given && self.request.agent.is_none()) {
            return Err(SetupError::usage(format!("`{option}` needs `--agent`")));
        }
        Ok(())
    }

    fn listen(&self, document: &NamedDocument) -> Result<BTreeMap<String, SocketAddr>, SetupError> {
        let servers: Vec<_> = actors(document).filter(|actor| SERVER.1(actor)).collect();
        let mut listen = BTreeMap::new();
        for asked in &self.request.listen {
            let meant = servers.iter().filter(|actor| match &asked.actor {
                Some(name) => actor.name == *name,
                None => !self.request.listen.iter().any(|other| other.actor.as_ref() == Some(&actor.name)),
            });
            let meant: Vec<_> = meant.collect();
            if meant.len() > 1 && asked.address.port() != 0 {
                return Err(SetupError::Ambiguous {
                    document: document.name.clone(),
                    side: SERVER.0,
                    given: "one address",
                    help: "say which: `--listen ACTOR=ADDR`, for each of them",
                });
            }
            for actor in meant {
                if listen.insert(actor.name.clone(), asked.address).is_some() {
                    let name = &actor.name;
                    return Err(SetupError::usage(format!(
                        "`--listen` gives two addresses to actor `{name}`"
                    )));
                }
            }
        }
        Ok(listen)
    }

    /// Documents that run in parallel cannot listen at one address.
    fn check_ports(&self, prepared: &[DocumentCase]) -> Result<(), SetupError> {
        let fixed =
            prepared.iter().filter(|one| one.options.listen.values().any(|address| address.port() != 0));
        if self.request.limits.jobs > 1 && fixed.count() > 1 {
            return Err(SetupError::usage(
                "documents that run in parallel cannot listen at the same address",
            )
            .with_help("leave `--listen` out, or `--jobs`"));
        }
        Ok(())
    }
}

/// The words of a command as a person would write them.
fn command_line(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| shell_word(Path::new(word))).collect();
    words.join(" ")
}

/// The side of a protocol that an actor plays: its name, and whether an actor is on it.
type Side = (&'static str, fn(&Actor) -> bool);

const SERVER: Side = ("server", |actor| Mode::of(&actor.mode).is_server());
const CLIENT: Side = ("client", |actor| Mode::of(&actor.mode).is_client());
