//! What a message must have before an indicator need be asked about it.

use sortie_expr::path::WildcardPath;
use sortie_expr::re2::RequiredClause;

/// What a message must have for an indicator to match it, or to fail on it. On any other the indicator does not match, and need not
/// be evaluated.
///
/// ```
/// use sortie_oatf::{Compiled, load};
/// use sortie_oatf::compile::RequiredPlace;
///
/// let text = "
/// oatf: '0.1'
/// attack:
///   execution: {mode: mcp_server, state: {tools: []}}
///   indicators:
///     - {surface: tools/call, target: arguments.path, pattern: {contains: id_RSA}}
///     - {surface: tools/call, target: '', expression: {cel: 'has(message.arguments) && message.arguments.n > 1'}}
/// ";
/// let compiled = Compiled::new(load(text).unwrap().document).unwrap();
/// let required = compiled.indicators()[0].requirement();
/// assert_eq!(required.texts.unwrap(), [b"id_rsa"]);
/// let required = compiled.indicators()[1].requirement();
/// assert_eq!(required.place, RequiredPlace::Member(vec!["arguments".into()]));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// One of these texts, in the text of one value: a string, or any other as compact JSON with sorted keys. ASCII letters are in lower
    /// case, and their case does not count. U+212A and U+017F count as `k` and `s` there: a text with one of them may hold anything.
    pub texts: Option<Vec<Vec<u8>>>,
    /// Where something must be.
    pub place: RequiredPlace,
}

/// A pattern, for whoever looks for many of them in the same texts.
#[derive(Debug)]
pub struct TextPattern<'i> {
    /// Where it looks.
    pub target: &'i WildcardPath,
    /// Whether it looks at each text below that too.
    pub below: bool,
    /// A text that it matches holds what one of these clauses says. Letters are as in [`Requirement::texts`].
    pub clauses: Option<Vec<RequiredClause>>,
}

/// A place in a message at which something must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequiredPlace {
    /// None: anything goes.
    Anywhere,
    /// There must be a value at this path.
    Value(WildcardPath),
    /// On the way along these names no object may lack the next one. What is not an object on the way is an error of evaluation.
    Member(Vec<Box<str>>),
}

impl Requirement {
    /// Nothing: any message has to be looked at.
    pub(super) fn none() -> Self {
        Self { texts: None, place: RequiredPlace::Anywhere }
    }
}
