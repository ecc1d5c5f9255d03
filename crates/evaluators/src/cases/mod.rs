//! From evaluators and what a target offers to cases: what is played, and what decides it.

mod case;
mod excerpt;
mod ids;
mod offer;
mod plan;

pub use case::{CompiledEvaluator, PatternCase, Play, Shape, Unplayable};
pub use excerpt::excerpt;
pub use ids::{attempt_folder, canary, case_folder, hash};
pub use offer::{HttpAccess, MAX_TOOLS, Offer, TargetKind, Tool, ToolControl};
pub use plan::{MAX_PLANNED, Missing, PlanError, Planned, plan};
