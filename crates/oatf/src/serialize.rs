//! stub
use crate::Document;
pub(crate) fn serialize(d: &Document) -> String {
    d.oatf.clone()
}
