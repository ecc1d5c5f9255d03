//! Lints of ours: what is legal and still a mistake.
//!
//! A wrong finding costs more than a missed one, so a lint speaks where it is sure: nothing here guesses
//! what an agent might do, only what the document and the protocols rule out.

mod payload;
mod scope;
mod state;
mod templates;

mod l001;
mod l002;
mod l003;
mod l004;
mod l005;
mod l006;
mod l007;
mod l008;
mod l009;
mod l010;
mod l011;
mod l012;
mod l013;
mod l014;
mod l015;
mod l016;
mod l017;
mod l018;
mod l019;
mod l020;
mod l021;
mod l022;
mod l023;

use sortie_oatf::model::Document;
use sortie_oatf::rules::RuleReport;

/// A lint. One that is not about the text of a document has no check.
pub(crate) type Rule = sortie_syntax::Rule<Option<fn(&Document, &mut RuleReport<'_>)>>;

pub(crate) const RULES: &[&Rule] = &[
    &l001::L_001,
    &l002::L_002,
    &l003::L_003,
    &l004::L_004,
    &l005::L_005,
    &l006::L_006,
    &l007::L_007,
    &l008::L_008,
    &l009::L_009,
    &l010::L_010,
    &l011::L_011,
    &l012::L_012,
    &l013::L_013,
    &l014::L_014,
    &l015::L_015,
    &l016::L_016,
    &l017::L_017,
    &l018::L_018,
    &l019::L_019,
    &l020::L_020,
    &l021::L_021,
    &l022::L_022,
    &l023::L_023,
];
