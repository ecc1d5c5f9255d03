//! The fields of every object, in the order of the specification.
//!
//! One list serves parsing (what is known, what is nearest, what is needed), serialisation and formatting (the order). How a
//! field is read and written follows from its type.

use indexmap::IndexMap;
use serde_json::{Number, Value};
use sortie_syntax::yaml::emit::{EmitNode, boolean};
use sortie_syntax::yaml::style;
use sortie_syntax::yaml::{Node, NodeKind};
use sortie_syntax::{Reader, is_null};

use super::{
    Action, Actor, Attack, Category, Classification, Condition, Correlation, CorrelationLogic, Direction,
    Document, Execution, ExpressionMatch, Extensions, Extractor, ExtractorSource, ExtractorType,
    FrameworkMapping, Impact, Indicator, IndicatorMethod, LogAction, LogLevel, MatchCondition,
    MatchPredicate, PatternMatch, Phase, Reference, Relationship, SemanticExamples, SemanticIntentClass,
    SemanticMatch, SendAction, Severity, SeverityLevel, Status, Tier, Trigger,
};
use crate::{parse, serialize};

/// What can stand under a field, or in a list.
pub(crate) trait Content: Sized {
    /// What a list of them is called.
    const LIST: &'static str = "a list";

    /// Reads it; `None` where there is nothing, or nothing that fits, which is reported.
    fn read<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Self>;

    fn read_item<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Self> {
        Self::read(reader, node)
    }

    fn write(&self) -> EmitNode<'_>;
}

/// How content is read and written, and what a list of it is called.
macro_rules! contents {
    ($($type:ty: $read:expr, $write:expr $(, $list:literal)?;)+) => {
        $(impl Content for $type {
            $(const LIST: &'static str = $list;)?

            fn read<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Self> {
                let read: fn(&mut Reader<'t>, Node<'t>) -> Option<Self> = $read;
                read(reader, node)
            }

            fn write(&self) -> EmitNode<'_> {
                let write: fn(&Self) -> EmitNode<'_> = $write;
                write(self)
            }
        })+
    };
}

/// The same of enumerations: the rule that closes each, and what a member is called. All of their words can stand without
/// quotes.
macro_rules! words {
    ($($type:ident: $rule:literal, $what:literal $(, $list:literal)?;)+) => {
        contents! {
            $($type: |reader, node| reader.variant(node, $rule, $what, $type::WORDS), |word| line(word.as_str()) $(, $list)?;)+
        }
    };
}

fn line<'d>(text: impl Into<std::borrow::Cow<'d, str>>) -> EmitNode<'d> {
    EmitNode::Line(text.into())
}

contents! {
    i64: Reader::integer, |number| line(number.to_string());
    Number: Reader::number, |number| line(number.to_string());
    // What is not finite was not read from a document, and no document can say it.
    f64: |reader, node| reader.number(node)?.as_f64(),
        |number| line(Number::from_f64(*number).map(|number| number.to_string()).unwrap_or_default());
    bool: Reader::boolean, |value| line(boolean(*value));
    Value: |reader, node| Some(reader.value(node)), |value| EmitNode::value(value), "a list of values";
    Action: |reader, node| Some(parse::action(reader, node)), serialize::action, "a list of actions";
    PatternMatch: |reader, node| Some(parse::pattern(reader, node)), serialize::pattern;
    Condition: |reader, node| Some(parse::condition(reader, node)), serialize::condition;
    MatchPredicate: parse::predicate, serialize::named;
    IndexMap<String, String>: parse::variables, serialize::named;
}

words! {
    Category: "V-005", "a category";
    CorrelationLogic: "V-005", "a correlation logic";
    Direction: "V-005", "a direction";
    ExtractorSource: "V-005", "a message to extract from";
    ExtractorType: "V-005", "a type of extractor";
    Impact: "V-005", "a kind of impact", "a list of impacts";
    IndicatorMethod: "V-005", "an evaluation method";
    LogLevel: "V-005", "a log level";
    Relationship: "V-005", "a relationship";
    SemanticIntentClass: "V-005", "an intent class";
    SeverityLevel: "V-005", "a severity level";
    Status: "V-005", "a status of a document";
    Tier: "V-050", "an outcome tier";
}

impl Content for String {
    const LIST: &'static str = "a list of strings";

    fn read<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Self> {
        reader.string(node)
    }

    fn read_item<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Self> {
        if is_null(node) {
            reader.mismatch(node, "a string");
        }
        reader.string(node)
    }

    fn write(&self) -> EmitNode<'_> {
        style::string(self)
    }
}

impl<T: Content> Content for Vec<T> {
    fn read<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Self> {
        reader.list(node, T::LIST, T::read_item)
    }

    fn write(&self) -> EmitNode<'_> {
        EmitNode::sequence(self.iter().map(T::write))
    }
}

/// A field of an object: content that is there, or may be.
trait FieldValue {
    fn read<'t>(&mut self, reader: &mut Reader<'t>, node: Node<'t>);
    fn is_given(&self) -> bool;
    fn write(&self) -> Option<EmitNode<'_>>;
}

impl<T: Content> FieldValue for Option<T> {
    fn read<'t>(&mut self, reader: &mut Reader<'t>, node: Node<'t>) {
        *self = T::read(reader, node);
    }

    fn is_given(&self) -> bool {
        self.is_some()
    }

    fn write(&self) -> Option<EmitNode<'_>> {
        self.as_ref().map(T::write)
    }
}

impl<T: Content> FieldValue for T {
    fn read<'t>(&mut self, reader: &mut Reader<'t>, node: Node<'t>) {
        if let Some(content) = T::read(reader, node) {
            *self = content;
        }
    }

    fn is_given(&self) -> bool {
        true
    }

    fn write(&self) -> Option<EmitNode<'_>> {
        Some(T::write(self))
    }
}

/// An object of the format.
pub(crate) trait Object: Default {
    const NAMES: &'static [&'static str];
    /// What must stand there, in words that follow "must be".
    const EXPECTED: &'static str;
    /// What it is called.
    const WHAT: &'static str;
    /// What a list of them is called.
    const LIST_OF: &'static str = "a list";
    /// Whether a key with nothing behind it counts as absent.
    const MAY_BE_EMPTY: bool = true;
    /// The rule that wants fields, and which, each with what to do about it.
    const NEEDED: (&'static str, &'static [(&'static str, &'static str)]) = ("", &[]);

    fn read_field<'t>(&mut self, name: &str, reader: &mut Reader<'t>, node: Node<'t>);
    /// The fields that are given, in order.
    fn given(&self) -> Vec<&'static str>;
    fn write_fields(&self) -> Vec<(&'static str, EmitNode<'_>)>;

    fn extensions(&self) -> Option<&Extensions> {
        None
    }

    fn extensions_mut(&mut self) -> Option<&mut Extensions> {
        None
    }

    /// Reads it from anything.
    fn read_any<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Self {
        parse::object(reader, node, Self::read_field)
    }
}

impl<T: Object> Content for T {
    const LIST: &'static str = T::LIST_OF;

    fn read<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Self> {
        (!T::MAY_BE_EMPTY || !is_null(node)).then(|| T::read_any(reader, node))
    }

    fn read_item<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Option<Self> {
        Some(T::read_any(reader, node))
    }

    fn write(&self) -> EmitNode<'_> {
        serialize::object(self)
    }
}

/// The name of a field: that of the member of the structure, unless it has another.
macro_rules! name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $name:literal) => {
        $name
    };
}

/// Reads a field. Of pass-through content, the numbers are kept as their author wrote them.
macro_rules! read_value {
    ($reader:ident, $node:ident, $field:expr) => {
        FieldValue::read(&mut $field, $reader, $node)
    };
    ($reader:ident, $node:ident, $field:expr, $numbers:expr) => {
        if !is_null($node) {
            let (value, numbers) = $reader.value_and_numbers($node);
            ($field, $numbers) = (Some(value), numbers);
        }
    };
}

macro_rules! write_value {
    ($field:expr) => {
        FieldValue::write(&$field)
    };
    ($field:expr, $numbers:expr) => {
        $field.as_ref().map(|value| serialize::exact(value, &$numbers))
    };
}

/// Declares the names of fields.
macro_rules! fields {
    ($type:ident: $($field:ident $(= $name:literal)?),+) => {
        impl $type {
            /// Its fields, in the order of the specification.
            pub const FIELDS: &'static [&'static str] = &[$(name!($field $($name)?)),+];
        }
    };
}

/// Declares objects: what must stand there, what each is called, its fields, and those that it needs.
macro_rules! objects {
    ($(
        $type:ident: $expected:literal, $what:literal
        { $($field:ident $(= $name:literal)? $(+ $numbers:ident)?),+ $(; $extensions:ident)? }
        $(list $list:literal)?
        $(may_be_empty $may_be_empty:literal)?
        $(or_only $only:ident)?
        $(needs $rule:literal { $($needed:tt: $help:literal,)+ })?
    );+ $(;)?) => {$(
        fields! { $type: $($field $(= $name)?),+ }

        impl Object for $type {
            const NAMES: &'static [&'static str] = Self::FIELDS;
            const EXPECTED: &'static str = $expected;
            const WHAT: &'static str = $what;
            $(const LIST_OF: &'static str = $list;)?
            $(const MAY_BE_EMPTY: bool = $may_be_empty;)?
            $(const NEEDED: (&'static str, &'static [(&'static str, &'static str)]) =
                ($rule, &[$((stringify!($needed), $help)),+]);)?

            fn read_field<'t>(&mut self, name: &str, reader: &mut Reader<'t>, node: Node<'t>) {
                $(if name == name!($field $($name)?) {
                    return read_value!(reader, node, self.$field $(, self.$numbers)?);
                })+
            }

            fn given(&self) -> Vec<&'static str> {
                // Without `..`, so that a field which is not declared does not compile.
                let Self { $($field, $($numbers: _,)?)+ $($extensions: _)? } = self;
                let all = [$((name!($field $($name)?), FieldValue::is_given($field))),+];
                all.into_iter().filter_map(|(name, is_given)| is_given.then_some(name)).collect()
            }

            fn write_fields(&self) -> Vec<(&'static str, EmitNode<'_>)> {
                let all = [$((name!($field $($name)?), write_value!(self.$field $(, self.$numbers)?))),+];
                all.into_iter().filter_map(|(name, node)| Some((name, node?))).collect()
            }

            $(fn read_any<'t>(reader: &mut Reader<'t>, node: Node<'t>) -> Self {
                if matches!(node.kind, NodeKind::Mapping(_)) {
                    return parse::object(reader, node, Self::read_field);
                }
                let mut object = Self::default();
                FieldValue::read(&mut object.$only, reader, node);
                object
            })?

            $(fn extensions(&self) -> Option<&Extensions> {
                Some(&self.$extensions)
            }

            fn extensions_mut(&mut self) -> Option<&mut Extensions> {
                Some(&mut self.$extensions)
            })?
        }
    )+};
}

fields! { Document: oatf, schema = "$schema", attack }

// `target`, `condition`, and the operators of the shorthand form.
fields! {
    PatternMatch: target, condition, contains, starts_with, ends_with, regex, any_of, gt, lt, gte, lte, exists
}

objects! {
    Attack: "an attack", "an attack" {
        id, name, version, status, created, modified, author, description, grace_period, severity, impact,
        classification, references, execution, indicators, correlation; extensions
    }
    needs "V-004" {
        execution: "say how the attack is played: `execution:` with `mode` and `state`, `phases` or `actors`",
    };

    Severity: "a mapping", "a severity" { level, confidence }
    or_only level
    needs "P-010" { level: "for example `level: high`", };

    Classification: "a mapping", "a classification" { category, mappings, tags };

    FrameworkMapping: "a framework mapping", "a framework mapping" { framework, id, name, url, relationship }
    list "a list of framework mappings"
    needs "P-010" { framework: "for example `framework: owasp_llm`", id: "for example `id: LLM01`", };

    Reference: "a reference", "a reference" { url, title, description }
    list "a list of references"
    needs "P-010" { url: "say where it is to be found", };

    Correlation: "a mapping", "a correlation" { logic };
    Execution: "a mapping", "an execution" { mode, state + state_numbers, phases, actors; extensions };

    Actor: "an actor", "an actor" { name, mode, phases; extensions }
    list "a list of actors"
    needs "V-031" {
        name: "other actors refer to this one by its name: `{{name.extractor}}`",
        mode: "for example `mode: mcp_server`",
        phases: "an actor has at least one phase",
    };

    Phase: "a phase", "a phase" {
        name, description, mode, state + state_numbers, extractors, on_enter, trigger; extensions
    }
    list "a list of phases";

    Extractor: "an extractor", "an extractor" { name, source, r#type = "type", selector }
    list "a list of extractors"
    needs "P-010" {
        name: "templates use the value as `{{name}}`",
        source: "`request` or `response`",
        type: "`json_path` or `regex`",
        selector: "a JSONPath such as `$.arguments.path`, or a pattern with a group",
    };

    Trigger: "a trigger", "a trigger" { event, count, r#match = "match", after };

    SendAction: "a mapping with `method`", "a `send` action" { method, params }
    needs "P-010" { method: "for example `method: notifications/tools/list_changed`", };

    LogAction: "a mapping with `message`", "a `log` action" { message, level }
    needs "P-010" { message: "say what to log", };

    Indicator: "an indicator", "an indicator" {
        id, protocol, surface, target, actor, direction, method, description, pattern, expression, semantic,
        confidence, tier, severity, false_positives; extensions
    }
    list "a list of indicators"
    needs "P-010" {
        target: "name the field to examine, such as `target: \"arguments\"`; `\"\"` is the whole message",
    };

    ExpressionMatch: "an expression", "an expression" { cel, variables }
    may_be_empty false
    needs "P-010" { cel: "for example `cel: message.name == \"send_email\"`", };

    SemanticMatch: "a semantic match", "a semantic match" { target, intent, intent_class, threshold, examples }
    may_be_empty false
    needs "P-010" { intent: "describe in a sentence what to look for", };

    SemanticExamples: "a mapping", "examples" { positive, negative };

    MatchCondition: "a mapping", "a condition" {
        contains, starts_with, ends_with, regex, any_of, gt, lt, gte, lte, exists
    };
}
