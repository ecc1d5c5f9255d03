//! How a report is written.

/// How a report is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// Whether it may be painted.
    pub color: bool,
    /// What `JUnit`, which knows only passed and not passed, is told about skipped cases.
    pub allow_skipped: bool,
    /// Whether the runs were just made, so that people want to know how they ended and where they are.
    pub live: bool,
}
