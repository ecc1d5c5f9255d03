//! The HTML report in a real browser: `cargo xtask test --only pages`.

use std::path::PathBuf;
use std::process::Command;

use crate::step::{Failure, Runner, cargo, is_installed, root};

/// Starts a command in a network that has nothing but loopback.
const ISOLATED: &str = "ip link set lo up && exec \"$@\"";

const TESTS: [&str; 5] = ["test", "--package", "sortie-report", "--test", "pages"];

/// Opens pages in Chromium, in a network of their own where the system allows that.
pub(crate) fn run(runner: &mut Runner) -> Result<(), Failure> {
    if !has_browser() {
        if !can_install() {
            runner.leave_out("pages in a browser (no Chromium: install it, or let SORTIE_CHROMIUM name it)");
            return Ok(());
        }
        install(runner)?;
    }
    runner.command("pages (build)", cargo(TESTS).arg("--no-run"), "mend the errors above")?;
    let mut tests = isolated().unwrap_or_else(|| {
        runner.leave_out("a network of their own for pages in a browser (`unshare` is not allowed here)");
        Command::new("env")
    });
    tests
        .arg(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(TESTS)
        // One browser at a time, or they wait for each other.
        .args(["--offline", "--", "--include-ignored", "--test-threads", "1", "--nocapture"])
        .current_dir(root());
    runner.command("pages", &mut tests, "the first `FAILED` above says which")
}

/// What the tests start, too.
fn browser() -> PathBuf {
    std::env::var_os("SORTIE_CHROMIUM").map_or_else(|| "/usr/bin/chromium".into(), PathBuf::from)
}

fn has_browser() -> bool {
    is_installed(Command::new(browser()).arg("--version"))
}

/// Whether this is a Debian that we may change.
fn can_install() -> bool {
    let id = Command::new("id").arg("-u").output().map(|output| output.stdout);
    std::env::var_os("SORTIE_CHROMIUM").is_none()
        && id.is_ok_and(|id| id.trim_ascii() == b"0")
        && is_installed(Command::new("apt-get").arg("--version"))
}

fn install(runner: &mut Runner) -> Result<(), Failure> {
    const ADVICE: &str = "Chromium comes from Debian: is there a network?";
    runner.command("chromium", Command::new("apt-get").args(["update", "--quiet"]), ADVICE)?;
    let mut install = Command::new("apt-get");
    install.args(["install", "--quiet", "--yes", "--no-install-recommends", "chromium", "iproute2"]);
    runner.command("chromium", install.env("DEBIAN_FRONTEND", "noninteractive"), ADVICE)
}

/// A command that starts others without a network, as whoever may: an administrator, or one in a namespace of their own.
fn isolated() -> Option<Command> {
    let ways: [&[&str]; 2] = [&["--net"], &["--map-root-user", "--net"]];
    let start = |way: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(way).args(["sh", "-c", ISOLATED, "sh"]);
        command
    };
    ways.into_iter().find(|way| is_installed(start(way).arg("true"))).map(start)
}
