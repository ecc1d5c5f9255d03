//! `proofs.yaml`: which runs prove a document, and what each must give.

use serde_json::Value;
use sortie_oatf::Validated;
use sortie_oatf::model::{AttackResult, Direction, extract_protocol};
use sortie_syntax::yaml::Tree;
use sortie_syntax::{Diagnostic, Reader, Source, Span};

use crate::reading::Reading;

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
