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
  List evaluators:
    $ sortie evaluators list

  Write, check and test your own evaluator:
    $ sortie evaluators new order-takeover --output my-evaluators
    $ sortie evaluators check my-evaluators
    $ sortie evaluators test --evaluators my-evaluators order-takeover";

/// List evaluators, and write, check and test your own.
///
/// An evaluator is a YAML file with attacks to try, pass and fail criteria, and checks that decide without a model where
/// possible. Add your own folders with `--evaluators DIR`, or with `evaluators = ["DIR"]` in `sortie.toml`.
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
