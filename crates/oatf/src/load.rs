//! stub, replaced on merge
use crate::*;
/// stub
#[derive(Clone, Debug)]
pub struct Validated(Document);
impl std::ops::Deref for Validated {
    type Target = Document;
    fn deref(&self) -> &Document {
        &self.0
    }
}
/// stub
#[derive(Debug)]
pub struct LoadResult {
    /** d */
    pub document: Validated,
    /** w */
    pub warnings: Vec<Diagnostic>,
}
/// stub
pub fn load(input: &str) -> Result<LoadResult, Vec<OatfError>> {
    let d = parse(input).map_err(|e| e.into_iter().map(OatfError::from).collect::<Vec<_>>())?;
    Ok(LoadResult { document: Validated(d), warnings: vec![] })
}
