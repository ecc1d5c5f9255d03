//! Applies the repairs that findings offer.

use std::collections::{BTreeSet, HashMap};

use sortie_oatf::Analysis;
use sortie_syntax::{Diagnostic, Edit, Fix, Span};

use crate::analyze;

/// One repair can make room for the next, so rounds follow each other until nothing changes. Real documents
/// need one or two.
const MAX_ROUNDS: usize = 8;

/// How often a text is analysed again to tell harmless repairs from harmful ones. Halving finds one bad repair
/// among a thousand in twenty looks; whoever offers more bad ones than this gets none of them applied.
const MAX_TRIALS: usize = 64;

/// A text after its repairs.
#[derive(Clone, Debug, Default)]
pub struct Fixed {
    /// The text. Equal to the one given when nothing could be repaired.
    pub text: String,
    /// What was done, in the imperative, in the order of the rounds and then of the text.
    pub applied: Vec<String>,
    /// What can be said about the text as it is now.
    pub analysis: Analysis,
}

/// Applies every repair offered by a finding that `wanted` accepts, until none is left that helps.
///
/// A repair that would bring a new error to light is left out, so a text never has more errors of any code
/// afterwards than before. Applying the function to its own result changes nothing.
///
/// ```
/// let text = "
/// oatf: '0.1'
/// attack:
///   execution: {mode: mcp_server, stat: {tools: []}}
/// ";
/// let fixed = sortie_lint::fix(text, |_| true);
/// assert_eq!(fixed.applied, ["rename the field to `state`"]);
/// assert!(fixed.text.contains("state: {tools: []}"));
/// assert!(fixed.analysis.is_valid());
/// ```
pub fn fix(text: &str, wanted: impl Fn(&Diagnostic) -> bool) -> Fixed {
    let (text, applied) = fix_by(text, |text| analyze(text).diagnostics, wanted);
    Fixed { analysis: analyze(&text), text, applied }
}

/// The same, and the suggestions too: changes that are probably meant, and change what the document says. A person has
/// confirmed them.
///
/// ```
/// let text = "
/// oatf: '0.1'
/// attack:
///   execution: {mode: ag_ui_client, state: {run_agent_input: {messages: []}}}
///   indicators: [{target: response.content, direction: response, pattern: {contains: id_rsa}}]
/// ";
/// assert!(sortie_lint::fix(text, |_| true).text.contains("target: response.content"));
/// assert!(sortie_lint::fix_suggested(text, |_| true).text.contains(r#"target: "_text""#));
/// ```
pub fn fix_suggested(text: &str, wanted: impl Fn(&Diagnostic) -> bool) -> Fixed {
    let look = |text: &str| {
        let mut findings = analyze(text).diagnostics;
        for finding in &mut findings {
            finding.fix = finding.fix.take().or(finding.suggestion.take());
        }
        findings
    };
    let (text, applied) = fix_by(text, look, wanted);
    Fixed { analysis: analyze(&text), text, applied }
}

/// The same for whatever else has findings with repairs: `look` says what is found in a text. Gives the text, and what was
/// done.
pub fn fix_by(
    text: &str,
    look: impl Fn(&str) -> Vec<Diagnostic>,
    wanted: impl Fn(&Diagnostic) -> bool,
) -> (String, Vec<String>) {
    let (mut text, mut applied) = (text.to_owned(), Vec::new());
    let mut before = look(&text);
    let mut trials = MAX_TRIALS;
    for _ in 0..MAX_ROUNDS {
        let fixes = disjoint(before.iter().filter(|finding| wanted(finding)));
        let mut round = Round { text: &text, look: &look, before: &before, accepted: Vec::new(), last: None };
        round.apply(&fixes, &mut trials);
        let Some((better, after)) = round.last else { break };
        applied.extend(round.accepted.iter().map(|fix| fix.title.clone()));
        text = better;
        before = after;
    }
    (text, applied)
}

struct Round<'t, L> {
    text: &'t str,
    look: &'t L,
    before: &'t [Diagnostic],
    accepted: Vec<&'t Fix>,
    /// The text with everything accepted so far, and what is found in it.
    last: Option<(String, Vec<Diagnostic>)>,
}

impl<'t, L: Fn(&str) -> Vec<Diagnostic>> Round<'t, L> {
    /// Accepts what does no harm: all of it at once, or else half by half.
    // Recursion halves, so it is as deep as the logarithm of the number of fixes.
    fn apply(&mut self, fixes: &[&'t Fix], trials: &mut usize) {
        if fixes.is_empty() || *trials == 0 {
            return;
        }
        *trials -= 1;
        let candidates: Vec<&Fix> = self.accepted.iter().chain(fixes).copied().collect();
        let text = edited(self.text, &candidates);
        let after = (self.look)(&text);
        if text != self.text && !has_new_errors(self.before, &after) {
            self.accepted = candidates;
            self.last = Some((text, after));
        } else if fixes.len() > 1 {
            let (first, second) = fixes.split_at(fixes.len() / 2);
            self.apply(first, trials);
            self.apply(second, trials);
        }
    }
}

/// The fixes that do not get into each other's way, by place; of two that do, the first.
fn disjoint<'d>(findings: impl Iterator<Item = &'d Diagnostic>) -> Vec<&'d Fix> {
    let mut fixes: Vec<&Fix> = findings.filter_map(|finding| finding.fix.as_ref()).collect();
    let start = |fix: &Fix| fix.edits.iter().map(|edit| edit.span.start).min();
    fixes.sort_by_key(|fix| start(fix));
    let mut taken = BTreeSet::new();
    fixes.retain(|fix| {
        let free = !fix.edits.is_empty() && fix.edits.iter().all(|edit| is_free(&taken, edit.span));
        if free {
            taken.extend(fix.edits.iter().map(|edit| edit.span));
        }
        free
    });
    fixes
}

/// Whether a span overlaps none of the taken ones. Those do not overlap each other, so its neighbours decide.
fn is_free(taken: &BTreeSet<Span>, span: Span) -> bool {
    let before = taken.range(..=span).next_back();
    let after = taken.range(span..).next();
    before.into_iter().chain(after).all(|other| {
        // Two insertions at one place have no order, so they clash although they share no text.
        *other != span && (other.end <= span.start || span.end <= other.start)
    })
}

/// The text with edits that do not overlap.
fn edited(text: &str, fixes: &[&Fix]) -> String {
    let mut edits: Vec<&Edit> = fixes.iter().flat_map(|fix| &fix.edits).collect();
    edits.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for edit in edits {
        // A span that is none leaves the text alone rather than breaking it.
        let Some(kept) = text.get(done..edit.span.start) else { continue };
        if !text.is_char_boundary(edit.span.end) {
            continue;
        }
        result.push_str(kept);
        result.push_str(&edit.replacement);
        done = edit.span.end;
    }
    result.push_str(&text[done..]);
    result
}

/// Whether some code is reported as an error more often than before.
fn has_new_errors(before: &[Diagnostic], after: &[Diagnostic]) -> bool {
    let mut counts: HashMap<&str, isize> = HashMap::new();
    for finding in before.iter().filter(|finding| finding.is_error()) {
        *counts.entry(finding.code).or_default() += 1;
    }
    for finding in after.iter().filter(|finding| finding.is_error()) {
        *counts.entry(finding.code).or_default() -= 1;
    }
    counts.values().any(|count| *count < 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRONG: &str = r"oatf: 0.1
attack:
  name: 12
  status: drafts
  execution:
    mode: mcp_server
    stat: {tools: []}
";

    #[test]
    fn all_repairs_of_a_text_are_applied_and_a_second_time_changes_nothing() {
        let fixed = fix(WRONG, |_| true);
        let expected = r#"oatf: "0.1"
attack:
  name: "12"
  status: draft
  execution:
    mode: mcp_server
    state: {tools: []}
"#;
        assert_eq!(fixed.text, expected);
        assert_eq!(fixed.applied.len(), 4);
        let again = fix(&fixed.text, |_| true);
        assert_eq!(again.text, fixed.text);
        assert!(again.applied.is_empty());
    }

    #[test]
    fn only_wanted_repairs_are_applied() {
        let fixed = fix(WRONG, |finding| finding.code == "P-008");
        assert_eq!(fixed.applied, ["rename the field to `state`"]);
        assert!(fixed.text.starts_with("oatf: 0.1\n"));
    }

    #[test]
    fn a_repair_that_breaks_the_text_is_left_out_and_the_others_are_applied() {
        let harmful = Fix {
            title: "break it".into(),
            edits: vec![Edit { span: Span::new(0, 4), replacement: "\t{".into() }],
        };
        let harmless = Fix {
            title: "write it in quotes".into(),
            edits: vec![Edit { span: Span::new(6, 9), replacement: "\"0.1\"".into() }],
        };
        let look = |text: &str| analyze(text).diagnostics;
        let before = look(WRONG);
        let mut round = Round { text: WRONG, look: &look, before: &before, accepted: Vec::new(), last: None };
        round.apply(&[&harmful, &harmless], &mut 10);
        let titles: Vec<_> = round.accepted.iter().map(|fix| fix.title.as_str()).collect();
        assert_eq!(titles, ["write it in quotes"]);
        assert!(round.last.unwrap().0.starts_with("oatf: \"0.1\"\n"));
    }

    #[test]
    fn of_two_overlapping_repairs_the_first_is_taken() {
        let edit = |start, end| Edit { span: Span::new(start, end), replacement: "x".into() };
        let finding = |edits| {
            let mut finding = Diagnostic::new(sortie_syntax::DiagnosticSeverity::Error, "P-008", "");
            finding.fix = Some(Fix { title: String::new(), edits });
            finding
        };
        let findings = [finding(vec![edit(4, 8)]), finding(vec![edit(0, 5)]), finding(vec![edit(8, 8)])];
        let chosen = disjoint(findings.iter());
        assert_eq!(chosen.iter().map(|fix| fix.edits[0].span.start).collect::<Vec<_>>(), [0, 8]);
    }

    #[test]
    fn an_edit_outside_the_text_changes_nothing() {
        let outside = Edit { span: Span::new(90, 99), replacement: "x".into() };
        let fix = Fix { title: String::new(), edits: vec![outside] };
        assert_eq!(edited("short", &[&fix]), "short");
    }
}
