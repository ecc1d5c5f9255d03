//! Lints of ours: what is legal and still a mistake.
//!
//! A wrong finding costs more than a missed one, so a lint speaks where it is sure: nothing here guesses
//! what an agent might do, only what the document and the protocols rule out.

mod conditions;
mod fields;
mod flows;
mod indicators;
mod operations;
mod payload;
mod phases;
mod references;
mod responses;
mod scope;
mod states;
mod targets;
mod templates;

use conditions::{L_003, L_012, L_016};
use fields::{L_014, L_015, L_023};
use flows::L_024;
use indicators::{L_002, L_008, L_009, L_011};
use operations::L_025;
use phases::{L_006, L_017};
use references::{L_004, L_005, L_007};
use responses::{L_019, L_021};
use sortie_oatf::model::Document;
use sortie_oatf::rules::RuleReport;
use states::{L_013, L_018, L_020};
use targets::{L_001, L_010, L_022};

/// A lint. One that is not about the text of a document has no check.
pub(crate) type Rule = sortie_syntax::Rule<Option<fn(&Document, &mut RuleReport<'_>)>>;

pub(crate) const RULES: &[&Rule] = &[
    &L_001, &L_002, &L_003, &L_004, &L_005, &L_006, &L_007, &L_008, &L_009, &L_010, &L_011, &L_012, &L_013,
    &L_014, &L_015, &L_016, &L_017, &L_018, &L_019, &L_020, &L_021, &L_022, &L_023, &L_024, &L_025,
];
