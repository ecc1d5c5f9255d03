//! `sortie evaluators`

mod catalog;
mod check;
mod list;
mod new;
mod show;
mod test;

use clap::Args;

use crate::{Console, Exit, Failure};

const EXAMPLES: &str = "\
Examples:
  What there is:
    $ sortie evaluators list

  One of your own, from the first line to its fixtures:
    $ sortie evaluators new order-takeover --output my-evaluators
    $ sortie evaluators check my-evaluators
    $ sortie evaluators test --evaluators my-evaluators order-takeover";

/// Look at evaluators, and write, check and test your own.
///
/// An evaluator is a YAML file: attacks to try, what it means to resist them, and, where that can be said without a model,
/// checks that decide. Sortie brings some along; folders of your own are added with `--evaluators DIR`, or in `sortie.toml`
/// with `evaluators = [\"DIR\"]`.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES, subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Evaluators {
    #[command(subcommand)]
    what: What,
}

subcommands! {
    enum What {
        List(list::List),
        Show(show::Show),
        New(new::New),
        Check(check::Check),
        Test(test::Test),
        Catalog(catalog::Catalog),
    }
}

impl Evaluators {
    pub(crate) fn run(self, console: &mut Console) -> Result<Exit, Failure> {
        self.what.run(console)
    }
}
