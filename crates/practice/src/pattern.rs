//! Patterns that are constants.

/// Makes each pattern a static that is compiled when it is first used. The tests of each module use all of its own.
macro_rules! patterns {
    ($($(#[$doc:meta])* $name:ident = $pattern:expr;)*) => {
        $($(#[$doc])* pub(super) static $name: std::sync::LazyLock<regex::Regex> =
            // Constants, each compiled by a test.
            std::sync::LazyLock::new(|| regex::Regex::new($pattern).expect("a constant pattern"));)*
    };
}
