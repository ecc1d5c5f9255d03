//! `--fix` and `--diff`, for evaluators.

use std::path::Path;

use sortie_report::findings::Selection;

use super::scope::Opened;
use crate::console::Console;
use crate::failure::Failure;
use sortie_report::files::replace;

/// What is to be done with the repairs that findings offer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repairs {
    /// Write them.
    pub(crate) fix: bool,
    /// Show them, and write nothing.
    pub(crate) diff: bool,
}

impl Repairs {
    pub(crate) fn apply(
        self,
        opened: &mut Opened,
        selection: &Selection,
        console: &mut Console,
    ) -> Result<(), Failure> {
        if !self.fix && !self.diff {
            return Ok(());
        }
        for file in opened.check() {
            let wanted =
                |finding: &sortie_syntax::Diagnostic| finding.is_error() || !selection.allows(finding.code);
            let Some(text) = opened.repaired(&file, wanted) else { continue };
            if self.diff {
                console.diff(&file.name, file.source.text(), &text)?;
            } else {
                replace(Path::new(&file.name), &text)?;
                opened.put(&file.name, &text);
            }
        }
        Ok(())
    }
}
