//! `--format human`: the source, underlined, as rustc does it.

use std::io::{self, Write};
use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use sortie_syntax::{Diagnostic, DiagnosticSeverity, Span};

use super::{Checked, FindingTotals, Reporter, rule};
use crate::{counted, style, visible};

/// How many findings of one input are shown. Whoever has more has one cause for most of them.
const SHOWN: usize = 100;

/// How much source one snippet shows. Places further apart get snippets of their own; lines that are longer are
/// not shown at all, so that a hostile document cannot make the report slow or large.
const EXCERPT: usize = 32 * 1024;

/// Shows findings to people.
#[derive(Debug)]
pub struct Human {
    renderer: Renderer,
    color: bool,
}

impl Human {
    /// For text that may be coloured and is at most so wide.
    pub fn new(color: bool, width: Option<usize>) -> Self {
        let renderer = if color { Renderer::styled().hyperlink(false) } else { Renderer::plain() };
        let renderer = match width {
            Some(width) => renderer.term_width(width),
            None => renderer,
        };
        Self { renderer, color }
    }
}

impl Reporter for Human {
    fn file(&mut self, checked: &Checked, out: &mut dyn Write) -> io::Result<()> {
        for finding in checked.findings.iter().take(SHOWN) {
            writeln!(out, "{}\n", self.renderer.render(&[report(checked, finding)]))?;
        }
        let more = checked.findings.len().saturating_sub(SHOWN);
        if more > 0 {
            let name = visible(&checked.name);
            writeln!(
                out,
                "{name}: {more} more findings; mend these first, or see them with `--format json`\n"
            )?;
        }
        Ok(())
    }

    fn finish(&mut self, totals: &FindingTotals, out: &mut dyn Write) -> io::Result<()> {
        if totals.files == 0 {
            return Ok(()); // standard error has said why
        }
        let counts = [
            (totals.errors, style::ERROR, counted(totals.errors, "error", "errors")),
            (totals.warnings, style::WARNING, counted(totals.warnings, "warning", "warnings")),
        ];
        let counts = counts.iter().filter(|(count, ..)| *count > 0);
        let mut parts: Vec<_> =
            counts.map(|(_, style, text)| style::paint(self.color, *style, text)).collect();
        if parts.is_empty() {
            parts.push(style::paint(self.color, style::NOTE, "no findings"));
        }
        write!(out, "{} checked: {}", counted(totals.files, "file", "files"), parts.join(", "))?;
        if totals.fixable > 0 {
            write!(out, "; {} can be fixed with `--fix`", totals.fixable)?;
        }
        if totals.unread > 0 {
            write!(out, "; {} not read", counted(totals.unread, "input was", "inputs were"))?;
        }
        writeln!(out)
    }
}

/// One finding: title, place, source, help, and where to read more.
fn report<'r>(checked: &'r Checked, finding: &'r Diagnostic) -> Group<'r> {
    let level = if finding.is_error() { Level::ERROR } else { Level::WARNING };
    let title = level.primary_title(visible(&finding.message));
    // What is not about a document has no rule, and no code.
    let mut group = Group::with_title(if finding.code.is_empty() { title } else { title.id(finding.code) });
    let snippets = snippets(checked, finding);
    if snippets.is_empty() {
        let origin = Origin::path(visible(&checked.name));
        group = group.element(match finding.span {
            Some(span) => {
                let at = checked.source.line_column(span.start);
                origin.line(at.line).char_column(at.column)
            }
            None => origin,
        });
        if let Some(label) = &finding.label {
            group = group.element(Level::NOTE.message(visible(label)));
        }
    }
    group = group.elements(snippets);
    for help in &finding.help {
        group = group.element(Level::HELP.message(visible(help)));
    }
    let known = rule(finding.code);
    if finding.is_error() && known.is_some_and(|rule| rule.severity == DiagnosticSeverity::Warning) {
        group = group.element(Level::NOTE.message("a warning, which `--deny` makes an error"));
    }
    if known.is_some() {
        group = group.element(Level::NOTE.message(format!("`sortie explain {}`", finding.code)));
    }
    group
}

/// A place, what sort of mark it gets, and what is written beside it.
type Mark<'r> = (Span, AnnotationKind, Option<&'r str>);

/// The source around a finding: one snippet for it and the labels near it, and one for each label far away.
/// None at all when there is nothing that could be shown.
fn snippets<'r>(checked: &'r Checked, finding: &'r Diagnostic) -> Vec<Snippet<'r, Annotation<'r>>> {
    let text = checked.source.text();
    let Some(span) = finding.span else { return Vec::new() };
    let Some((span, mut window)) = lines_of(text, span) else { return Vec::new() };
    let mut marks: Vec<Mark<'r>> = vec![(span, AnnotationKind::Primary, finding.label.as_deref())];
    let mut far = Vec::new();
    for label in &finding.labels {
        let Some((span, lines)) = lines_of(text, label.span) else { continue };
        let mark = (span, AnnotationKind::Context, Some(label.text.as_str()));
        let both = window.start.min(lines.start)..window.end.max(lines.end);
        if both.len() <= EXCERPT {
            window = both;
            marks.push(mark);
        } else {
            far.push((lines, mark));
        }
    }
    let mut shown = vec![snippet(checked, window, &marks)];
    shown.extend(far.into_iter().map(|(lines, mark)| snippet(checked, lines, &[mark])));
    shown
}

fn snippet<'r>(
    checked: &'r Checked,
    window: Range<usize>,
    marks: &[Mark<'r>],
) -> Snippet<'r, Annotation<'r>> {
    let text = checked.source.text();
    // Stand-ins are not as long as what they stand for, so places move.
    let moved = |offset: usize| shown(&text[window.start..offset]).len();
    let annotations = marks
        .iter()
        .map(|(span, kind, label)| kind.span(moved(span.start)..moved(span.end)).label(label.map(visible)));
    Snippet::source(shown(&text[window.clone()]))
        .path(visible(&checked.name))
        .line_start(checked.source.line_column(window.start).line)
        .annotations(annotations)
}

/// The whole lines that a span touches, without the last line end, and the span within them. Of a span that
/// is too long to be shown, only the first line; nothing, when even that is.
fn lines_of(text: &str, span: Span) -> Option<(Span, Range<usize>)> {
    let start = text.floor_char_boundary(span.start);
    let mut end = text.floor_char_boundary(span.end.max(span.start));
    // A span that ends with a line end belongs to the line before it.
    if end > start && text[..end].ends_with('\n') {
        end -= 1;
    }
    let first = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = |inside: usize| {
        let end = text[inside..].find('\n').map_or(text.len(), |at| inside + at);
        if text[inside..end].ends_with('\r') { end - 1 } else { end }
    };
    let mut last = line_end(end);
    if last - first > EXCERPT {
        last = line_end(start);
        end = end.min(last);
    }
    let shown = !text.is_empty() && last - first <= EXCERPT;
    shown.then_some((Span::new(start, end.min(last).max(start)), first..last.max(start)))
}

/// What is shown of the source: everything visible, and line ends of one sort.
fn shown(text: &str) -> String {
    visible(&text.replace("\r\n", "\n")).into_owned()
}

#[cfg(test)]
mod tests {
    use sortie_syntax::Source;

    use super::*;

    fn rendered(text: &str, findings: Vec<Diagnostic>) -> String {
        let checked = Checked { name: "a.yaml".into(), source: Source::new(text), valid: false, findings };
        let mut out = Vec::new();
        Human::new(false, None).file(&checked, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// What is shown of a finding about the word `wrong` of a text.
    fn marked(text: &str) -> String {
        let start = text.find("wrong").unwrap();
        rendered(text, vec![finding(Span::new(start, start + 5))])
    }

    fn finding(span: Span) -> Diagnostic {
        let mut finding = Diagnostic::new(DiagnosticSeverity::Error, "X-001", "wrong");
        finding.span = Some(span);
        finding.label = Some("here".into());
        finding
    }

    #[test]
    fn control_characters_are_shown_and_the_underline_stays_below_its_text() {
        let text = "a: \u{1b}[31m\u{202e}x\u{200b} wrong\r\nb: 1\r\n";
        let shown = marked(text);
        let expected = "\
error[X-001]: wrong
 --> a.yaml:1:13
  |
1 | a: ␛[31m\u{fffd}x\u{fffd} wrong
  |             ^^^^^ here

";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_line_too_long_to_be_shown_is_pointed_at() {
        let text = format!("a: {}wrong{}\n", "x".repeat(500_000), "y".repeat(500_000));
        let shown = marked(&text);
        assert_eq!(shown, "error[X-001]: wrong\n--> a.yaml:1:500004\n = note: here\n\n");
    }

    #[test]
    fn of_a_long_line_the_part_that_matters_is_shown() {
        let text = format!("a: {}wrong{}\n", "x".repeat(5_000), "y".repeat(5_000));
        let shown = marked(&text);
        assert!(shown.contains("--> a.yaml:1:5004"), "{shown}");
        assert!(shown.contains("xwrongy") && shown.contains("^^^^^ here"), "{shown}");
        assert!(shown.len() < 1_000, "{shown}");
    }

    #[test]
    fn of_a_long_block_the_first_line_is_shown() {
        let text = format!("a: |\n{}", "  text\n".repeat(20_000));
        let shown = rendered(&text, vec![finding(Span::new(3, text.len()))]);
        assert!(shown.contains("1 | a: |\n  |    ^ here"), "{shown}");
    }

    #[test]
    fn places_far_apart_are_shown_apart() {
        let text = format!("first: 1\n{}second: 2\n", "middle: 0\n".repeat(9_000));
        let second = text.find("second").unwrap();
        let mut both = finding(Span::new(second, second + 6));
        both.labels.push(sortie_syntax::Label { span: Span::new(0, 5), text: "first used here".into() });
        let shown = rendered(&text, vec![both]);
        let expected = "\
error[X-001]: wrong
    --> a.yaml:9002:1
     |
9002 | second: 2
     | ^^^^^^ here
     |
    ::: a.yaml:1:1
     |
   1 | first: 1
     | ----- first used here

";
        assert_eq!(shown, expected);
    }

    #[test]
    fn places_outside_the_text_do_no_harm() {
        for text in ["", "a", "ä: 1", "a\n"] {
            for (start, end) in [(0, 0), (1, 1), (1, 99), (99, 99), (3, 1)] {
                assert!(rendered(text, vec![finding(Span::new(start, end))]).contains("wrong"));
            }
        }
    }

    #[test]
    fn a_flood_of_findings_is_cut() {
        let shown = rendered("a: 1\n", vec![finding(Span::new(0, 1)); 250]);
        assert!(
            shown.ends_with(
                "a.yaml: 150 more findings; mend these first, or see them with `--format json`\n\n"
            )
        );
    }
}
