//! `proofs.yaml`: which runs prove a document, what each must give, and a word about everything that does not fit.

use std::str::FromStr;

use serde_json::Value;
use sortie_bindings::{Side, is_agent_side};
use sortie_oatf::Validated;
use sortie_oatf::model::{AttackResult, Direction, extract_protocol};
use sortie_syntax::yaml::{Entry, Node, NodeKind, Tree};
use sortie_syntax::{Diagnostic, DiagnosticSeverity, Field, ParseErrorKind, Reader, Source, Span, nearest};

/// What is said to prove a document.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// Runs, and what each must give.
    pub proofs: Vec<Proof>,
    /// Mutants that nothing has to tell apart.
    pub survivors: Vec<Survivor>,
    /// Why no recording shows an agent that does not give in, where messages have to show that indicators stay silent.
    pub unrecorded_silence: Option<String>,
}

/// A run, and what it must give.
#[derive(Clone, Debug)]
pub struct Proof {
    /// How reports call it: the name of the file, or its position for one that has none.
    pub name: String,
    /// What was said in it.
    pub shows: Shows,
    /// What it must give.
    pub verdict: AttackResult,
    /// The indicators that must match, and no others.
    pub matched: Vec<String>,
    /// The agent that was attacked.
    pub agent: Option<String>,
    /// What happens in it.
    pub about: String,
    /// Where the verdict stands in the manifest.
    pub verdict_at: Span,
    /// Where it stands in the manifest.
    pub at: Span,
}

/// What was said in a run.
#[derive(Clone, Debug)]
pub enum Shows {
    /// A recording, by the name of its file.
    Trace(String),
    /// A few messages, as indicators see them.
    Messages(Vec<Said>),
}

/// A message as indicators see it.
#[derive(Clone, Debug)]
pub struct Said {
    /// The actor that hears or says it.
    pub actor: String,
    /// Its mode.
    pub mode: String,
    /// The operation.
    pub surface: String,
    /// Which half of the exchange it is.
    pub direction: Direction,
    /// What it says.
    pub message: Value,
}

/// A mutant that nothing has to tell apart, and why.
#[derive(Clone, Debug)]
pub struct Survivor {
    /// Its id.
    pub mutant: String,
    /// Why that is in order.
    pub reason: String,
    /// Where it stands in the manifest.
    pub at: Span,
}

impl Manifest {
    /// Reads a manifest, or says everything that is wrong with it, in the order of the source.
    ///
    /// ```
    /// use sortie_oatf::load;
    /// use sortie_prove::Manifest;
    ///
    /// let document = load("
    /// oatf: '0.1'
    /// attack:
    ///   id: ACME-001
    ///   execution: {mode: mcp_server, state: {tools: []}}
    ///   indicators: [{surface: tools/call, target: arguments.path, pattern: {contains: id_rsa}}]
    /// ").unwrap().document;
    /// let text = "
    /// proofs:
    ///   - trace: gave-in.jsonl
    ///     about: The agent reads the key.
    ///     verdict: exploited
    ///     matched: [ACME-001-1]
    /// ";
    /// let findings = Manifest::parse(text, &document).unwrap_err();
    /// assert_eq!(findings[0].label.as_deref(), Some("did you mean `ACME-001-01`?"));
    /// ```
    pub fn parse(text: &str, document: &Validated) -> Result<Self, Vec<Diagnostic>> {
        let (tree, mut findings) = Tree::parse(text);
        let Some(tree) = tree else { return Err(findings) };
        let mut reader = Reader::new(&tree);
        let manifest = Reading(document).manifest(&mut reader, tree.root());
        findings.extend(reader.finish());
        findings.sort_by_key(|finding| finding.span.map(|span| (span.start, span.end)));
        if findings.is_empty() { Ok(manifest) } else { Err(findings) }
    }

    /// Whether it says what a recording must give.
    pub fn names(&self, trace: &str) -> bool {
        self.proofs.iter().any(|proof| proof.name == trace)
    }

    /// Whether a mutant is accepted, and why.
    pub fn accepts(&self, mutant: &str) -> Option<&Survivor> {
        self.survivors.iter().find(|survivor| survivor.mutant == mutant)
    }
}

/// The line of a place in a manifest, for whoever reports it.
pub(crate) fn line(source: &Source, at: Span) -> usize {
    source.line_column(at.start).line
}

impl Said {
    /// The protocol it is said in.
    pub fn protocol(&self) -> &str {
        extract_protocol(&self.mode)
    }
}

/// A list in a manifest is at most so long.
pub const MOST_LISTED: usize = 200;

const MANIFEST: &[&str] = &["proofs", "survivors", "unrecorded_silence"];
const PROOF: &[&str] = &["trace", "messages", "agent", "about", "verdict", "matched"];
const SAID: &[&str] = &["actor", "surface", "direction", "message"];
const SURVIVOR: &[&str] = &["mutant", "reason"];

/// The document that a manifest is read for.
struct Reading<'d>(&'d Validated);

impl Reading<'_> {
    fn manifest<'t>(&self, reader: &mut Reader<'t>, node: Node<'t>) -> Manifest {
        let mut manifest = Manifest::default();
        let Some(entries) = reader.mapping(node, "a mapping with `proofs`") else { return manifest };
        let mut given = false;
        fields(reader, entries, "a manifest of proofs", MANIFEST, |reader, field, entry| match field {
            "survivors" => manifest.survivors = list(reader, entry, "a list of survivors", survivor),
            "unrecorded_silence" => manifest.unrecorded_silence = reader.under(entry, Reader::string),
            _ => {
                given = reader.is_given(entry);
                let mut index = 0;
                manifest.proofs = list(reader, entry, "a list of proofs", |reader, item| {
                    index += 1;
                    self.proof(reader, item, index)
                });
            }
        });
        if !given {
            let help = "name the runs that prove the document: `- {trace: …, about: …, verdict: …}`";
            reader.missing(node, "P-010", "a manifest of proofs", "proofs", help);
        }
        no_name_twice(reader, &manifest.proofs);
        manifest
    }

    fn proof<'t>(&self, reader: &mut Reader<'t>, node: Node<'t>, index: usize) -> Option<Proof> {
        let entries = reader.mapping(node, "a proof")?;
        let at = reader.headline(node);
        let (mut trace, mut messages, mut agent, mut about) = (None, None, None, None);
        let (mut verdict, mut matched) = (None, None);
        let mut verdict_at = at;
        let mut seen = Vec::new();
        fields(reader, entries, "a proof", PROOF, |reader, field, entry| {
            seen.push(field);
            match field {
                "trace" => trace = file_name(reader, entry),
                "messages" => {
                    let said = |reader: &mut Reader<'t>, item| self.said(reader, item);
                    messages = Some(list(reader, entry, "a list of messages", said));
                }
                "agent" => agent = reader.under(entry, Reader::string),
                "about" => about = reader.under(entry, Reader::string),
                "verdict" => {
                    verdict_at = headline(reader, entry);
                    verdict = variant(reader, entry, "a verdict", AttackResult::WORDS);
                }
                _ => matched = Some((entry, self.matched(reader, entry))),
            }
        });
        // A field that was misspelt is reported already.
        let has = |field: &str| seen.contains(&field);
        if has("trace") == has("messages") {
            let message = if has("trace") {
                "a proof has `trace` or `messages`, not both"
            } else {
                "a proof needs `trace` or `messages`"
            };
            report(reader, at, "P-010", message, |finding| {
                let finding = finding.help("`trace` names a recording in the folder of the manifest");
                finding.help("`messages` lists a few messages, for what nearly matches")
            });
        }
        let verdict_help = "say what the run must give, such as `verdict: not_exploited`";
        need(reader, node, "a proof", "about", has("about"), "say in a sentence what the agent does");
        need(reader, node, "a proof", "verdict", has("verdict"), verdict_help);
        let verdict: AttackResult = verdict?;
        let gave_in = matches!(verdict, AttackResult::Exploited | AttackResult::Partial);
        match &matched {
            None if gave_in && !has("matched") => {
                let help =
                    "list the ids of the indicators that must match, so that no other stands in for them";
                reader.missing(node, "P-010", &format!("a proof that is `{verdict}`"), "matched", help);
            }
            Some((entry, ids)) if gave_in == ids.is_empty() && verdict != AttackResult::Error => {
                let key = reader.tree().node(entry.key).span;
                let message = format!("`{verdict}` does not go with these indicators");
                let help = "a run is exploited, or partial, when an indicator matches, and not otherwise";
                report(reader, key, "P-009", message, |finding| finding.help(help));
            }
            _ => {}
        }
        let (name, shows) = match (trace, messages) {
            (Some(trace), None) => (trace.clone(), Shows::Trace(trace)),
            (None, Some(messages)) => (format!("proof {index}"), Shows::Messages(messages)),
            _ => return None,
        };
        let matched = matched.map(|(_, ids)| ids).unwrap_or_default();
        Some(Proof { name, shows, verdict, matched, agent, about: about.unwrap_or_default(), verdict_at, at })
    }

    fn matched(&self, reader: &mut Reader<'_>, entry: Entry) -> Vec<String> {
        let ids = reader.under(entry, Reader::strings).unwrap_or_default();
        let indicators = self.0.attack.indicators.iter().flatten();
        let known: Vec<&str> = indicators.filter_map(|indicator| indicator.id.as_deref()).collect();
        let nodes = match reader.tree().node(entry.value).kind {
            NodeKind::Sequence(items) => items.to_vec(),
            _ => Vec::new(),
        };
        for (id, item) in ids.iter().zip(nodes).filter(|(id, _)| !known.contains(&id.as_str())) {
            let at = reader.tree().node(item).span;
            let meant = nearest(id, known.iter().copied()).map(ToOwned::to_owned);
            let message = format!("the document has no indicator `{id}`");
            report(reader, at, "P-009", message, |finding| match meant {
                Some(meant) => finding.label(format!("did you mean `{meant}`?")),
                None => finding
                    .help("name the `id` of an indicator; `sortie normalize` shows those that were left out"),
            });
        }
        ids
    }

    fn said<'t>(&self, reader: &mut Reader<'t>, node: Node<'t>) -> Option<Said> {
        let entries = reader.mapping(node, "a message")?;
        let (mut actor, mut surface, mut direction, mut message) = (None, None, None, None);
        fields(reader, entries, "a message", SAID, |reader, field, entry| match field {
            "actor" => actor = reader.under(entry, Reader::string),
            "surface" => surface = reader.under(entry, Reader::string),
            "direction" => direction = variant(reader, entry, "a direction", Direction::WORDS),
            _ => message = Some(reader.under(entry, Reader::value)),
        });
        let help = "for example `{surface: tools/call, message: {name: read, arguments: {}}}`";
        need(reader, node, "a message", "surface", surface.is_some(), help);
        need(reader, node, "a message", "message", message.is_some(), help);
        let (surface, message) = (surface?, message?);
        let (actor, mode) = self.actor(reader, node, actor.as_deref())?;
        let direction = direction.or_else(|| agents_side(&mode, &surface)).or_else(|| {
            let help = "say `request` or `response`: which of them the agent sends cannot be told from here";
            reader.missing(node, "P-010", "this message", "direction", help);
            None
        })?;
        Some(Said { actor, mode, surface, direction, message })
    }

    /// The actor that is named, or the only one there is.
    fn actor<'t>(
        &self,
        reader: &mut Reader<'t>,
        node: Node<'t>,
        name: Option<&str>,
    ) -> Option<(String, String)> {
        let actors = self.0.attack.execution.actors.as_deref().unwrap_or_default();
        let found = match (name, actors) {
            (Some(name), actors) => actors.iter().find(|actor| actor.name == name),
            (None, [only]) => Some(only),
            (None, _) => None,
        };
        if let Some(actor) = found {
            return Some((actor.name.clone(), actor.mode.clone()));
        }
        let names: Vec<_> = actors.iter().map(|actor| format!("`{}`", actor.name)).collect();
        let (at, message) = match name {
            Some(name) => {
                let entry = reader.tree().entry(node.id, "actor");
                let at = entry.map_or(node.span, |entry| reader.tree().node(entry.value).span);
                (at, format!("the document has no actor `{name}`"))
            }
            None => (reader.headline(node), "a message needs `actor`, since there are several".to_owned()),
        };
        report(reader, at, "P-009", message, |finding| {
            finding.help(format!("it is one of {}", names.join(", ")))
        });
        None
    }
}

/// Reads each field of a mapping that is known.
fn fields<'t>(
    reader: &mut Reader<'t>,
    entries: &'t [Entry],
    what: &str,
    known: &'static [&'static str],
    mut read: impl FnMut(&mut Reader<'t>, &'static str, Entry),
) {
    for entry in entries {
        if let Field::Known(field) = reader.field(entries, *entry, what, known, false) {
            read(reader, field, *entry);
        }
    }
}

fn need<'t>(reader: &mut Reader<'t>, node: Node<'t>, what: &str, field: &str, given: bool, help: &str) {
    if !given {
        reader.missing(node, "P-010", what, field, help);
    }
}

fn headline(reader: &mut Reader<'_>, entry: Entry) -> Span {
    reader.under(entry, |reader, node| reader.headline(node))
}

fn variant<T: FromStr>(
    reader: &mut Reader<'_>,
    entry: Entry,
    what: &str,
    words: &'static [&'static str],
) -> Option<T> {
    reader.under(entry, |reader, node| reader.variant(node, "P-009", what, words))
}

/// A list below a key, of no more items than there may be.
fn list<'t, T>(
    reader: &mut Reader<'t>,
    entry: Entry,
    what: &str,
    mut read: impl FnMut(&mut Reader<'t>, Node<'t>) -> Option<T>,
) -> Vec<T> {
    let mut count = 0;
    let items = reader.under(entry, |reader, node| {
        reader.list(node, what, |reader, item| {
            count += 1;
            if count == MOST_LISTED + 1 {
                let at = reader.headline(item);
                report(reader, at, "P-011", format!("{MOST_LISTED} items are the limit"), |finding| {
                    finding.help("prove the document with fewer runs, or split it")
                });
            }
            if count > MOST_LISTED { None } else { read(reader, item) }
        })
    });
    items.unwrap_or_default()
}

/// A file of the same folder: a manifest may come from anywhere, and names nothing outside.
fn file_name(reader: &mut Reader<'_>, entry: Entry) -> Option<String> {
    let name = reader.under(entry, Reader::string)?;
    let is_plain = !name.is_empty()
        && name.len() <= 255
        && !name.starts_with('.')
        && !name.contains(['/', '\\', ':', '\0']);
    if !is_plain {
        let at = headline(reader, entry);
        let help = "put the recording beside the manifest, and name it without its folder";
        let message = "`trace` must be the name of a file in this folder";
        report(reader, at, "P-009", message, |finding| finding.help(help));
    }
    is_plain.then_some(name)
}

fn survivor<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Survivor> {
    let entries = reader.mapping(node, "a survivor")?;
    let (mut mutant, mut reason) = (None, None);
    let mut at = reader.headline(node);
    fields(reader, entries, "a survivor", SURVIVOR, |reader, field, entry| {
        let text = reader.under(entry, Reader::string);
        if field == "mutant" {
            (mutant, at) = (text, headline(reader, entry));
        } else {
            reason = text;
        }
    });
    let reason = reason.filter(|reason: &String| !reason.trim().is_empty());
    let help = "`sortie prove` prints the ids of mutants that survive";
    need(reader, node, "a survivor", "mutant", mutant.is_some(), help);
    let help = "say why no trace has to tell it from the document";
    need(reader, node, "a survivor", "reason", reason.is_some(), help);
    Some(Survivor { mutant: mutant?, reason: reason?, at })
}

fn no_name_twice(reader: &mut Reader<'_>, proofs: &[Proof]) {
    for (index, proof) in proofs.iter().enumerate() {
        let first = proofs[..index].iter().find(|earlier| earlier.name == proof.name);
        if let Some(first) = first {
            let at = first.at;
            report(reader, proof.at, "P-009", format!("`{}` is named twice", proof.name), |finding| {
                finding.label("second time").also(at, "first named here").help("one run gives one verdict")
            });
        }
    }
}

fn report(
    reader: &mut Reader<'_>,
    at: Span,
    code: &'static str,
    message: impl Into<String>,
    more: impl FnOnce(Diagnostic) -> Diagnostic,
) {
    let mut finding = Diagnostic::new(DiagnosticSeverity::Error, code, message);
    finding.kind = Some(ParseErrorKind::TypeMismatch);
    let finding = more(finding.at(at));
    reader.report(|_| finding);
}

/// The half of an exchange that the agent sends, where only one can be.
fn agents_side(mode: &str, surface: &str) -> Option<Direction> {
    let from_agent = |side| is_agent_side(mode, Some(surface), Some(side)) == Some(true);
    match (from_agent(Side::Request), from_agent(Side::Response)) {
        (true, false) => Some(Direction::Request),
        (false, true) => Some(Direction::Response),
        _ => None,
    }
}
