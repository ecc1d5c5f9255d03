//! Content that documents want generated (`synthesize`), and what it must look like before it is sent.
//!
//! OATF 0.1 reserves the block and says what is planned: a prompt with templates, and content that is held to the schema of the
//! message it goes into. Whatever goes wrong is a warning, and what is written out is served instead; a model's refusal is no
//! content.

mod block;
mod shape;

pub(crate) use block::Synthesis;
pub(crate) use shape::Shape;
