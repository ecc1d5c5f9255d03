//! The structure of documents, for editors.

/// The JSON Schema (draft 2020-12) of documents.
///
/// It accepts and refuses what [`analyze`](crate::analyze) does on structure: fields, types, enumerations,
/// and what must stand together. Whether a regular expression is one, or a name refers to something, no schema can say.
/// A field that may be left out may also be left empty (`null`), as it may for the parser.
///
/// ```
/// let schema: serde_json::Value = serde_json::from_str(sortie_oatf::schema()).unwrap();
/// assert_eq!(schema["properties"]["oatf"]["const"], "0.1");
/// ```
pub const fn schema() -> &'static str {
    include_str!("schema.json")
}
