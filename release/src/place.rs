//! A clean place to install into: a folder of its own, no network, and neither Rust nor the checkout within reach.
//!
//! Bubblewrap makes it. It needs no rights on most systems.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::Error;
use crate::facts::{broken, create_folder, output};
use crate::packages::IMAGE_USER;

/// A folder of one package, with the package as if it had just been downloaded.
pub(crate) struct Place {
    name: &'static str,
    folder: PathBuf,
    /// What makes the programs of another processor start.
    emulator: Option<Emulator>,
    /// When the download was complete.
    since: Instant,
}

impl Place {
    /// Copies artefacts into a new folder, and begins to count.
    pub(crate) fn new(
        name: &'static str,
        above: &Path,
        artefacts: &[PathBuf],
        emulator: Option<Emulator>,
    ) -> Result<Self, Error> {
        let folder = create_folder(&above.join(name))?;
        create_folder(&folder.join("home"))?;
        let downloads = create_folder(&folder.join("download"))?;
        for from in artefacts {
            let to = downloads.join(from.file_name().unwrap_or_default());
            std::fs::copy(from, &to).map_err(|source| Error::File { path: to, source })?;
        }
        Ok(Self { name, folder, emulator, since: Instant::now() })
    }

    pub(crate) fn name(&self) -> &str {
        self.name
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the copy of an artefact is.
    pub(crate) fn download(&self, artefact: &Path) -> PathBuf {
        self.folder.join("download").join(artefact.file_name().unwrap_or_default())
    }

    pub(crate) fn seconds(&self) -> f64 {
        self.since.elapsed().as_secs_f64()
    }

    pub(crate) fn fail(&self, problem: impl Into<String>) -> Error {
        broken(self.name, problem)
    }

    /// A program of this system. It can write only into the folder of this place.
    pub(crate) fn on_system(&self, program: impl AsRef<Path>, path: impl Into<OsString>) -> Command {
        let mut command = bubblewrap();
        command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]);
        for hidden in rust_folders() {
            command.arg("--tmpfs").arg(hidden);
        }
        command.arg("--bind").arg(&self.folder).arg(&self.folder);
        command.args(["--setenv", "PATH"]).arg(path.into());
        let home = self.folder.join("home");
        command.args(["--setenv", "HOME"]).arg(&home).arg("--chdir").arg(&home);
        command.arg("--").arg(program.as_ref());
        command
    }

    /// A program in a system that has nothing but what is in `root`, `/proc` and `/dev`. It can write only into its home and `/tmp`.
    pub(crate) fn in_root(&self, root: &Path, home: &str, program: &str) -> Command {
        let mut command = bubblewrap_with(self.emulator.as_ref());
        // Whatever runs containers mounts these. Without a folder for them, bubblewrap says so.
        for mounted in ["proc", "dev"] {
            let _ = std::fs::create_dir_all(root.join(mounted));
        }
        command.arg("--ro-bind").arg(root).arg("/").args(["--proc", "/proc", "--dev", "/dev"]);
        for writable in [home, "/tmp"] {
            command.arg("--bind").arg(root.join(writable.trim_start_matches('/'))).arg(writable);
        }
        let user = IMAGE_USER.to_string();
        command.args(["--uid", &user, "--gid", &user, "--chdir", home, "--setenv", "HOME", home]);
        command.args(["--setenv", "PATH", "/usr/bin", "--", program]);
        command
    }

    /// Checks that Rust cannot be had here, so that no package can need it.
    pub(crate) fn check_no_rust(&self) -> Result<(), Error> {
        let mut search = self.on_system("/bin/sh", search_path());
        let found = output(search.args(["-c", "command -v cargo rustc || true"]))?;
        if found.is_empty() {
            return Ok(());
        }
        Err(self.fail(format!("Rust is within reach: {}", String::from_utf8_lossy(&found).trim())))
    }
}

/// The search path of whoever runs this.
pub(crate) fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

fn bubblewrap() -> Command {
    bubblewrap_with(None)
}

fn bubblewrap_with(emulator: Option<&Emulator>) -> Command {
    let mut command = match emulator {
        Some(emulator) => emulator.before("bwrap"),
        None => Command::new("bwrap"),
    };
    command.args(["--unshare-all", "--die-with-parent", "--clearenv"]);
    command
}

/// QEMU, for the programs of another processor and whatever they start themselves, such as practice agents.
pub(crate) struct Emulator {
    /// What the kernel is told: how such programs begin, and what runs them.
    registration: String,
}

/// Tells the kernel, in a user namespace of its own, what to start programs of another processor with. Nothing of the machine changes.
const REGISTER: &str = "mount -t binfmt_misc none /proc/sys/fs/binfmt_misc || { echo 'a user namespace of its own for emulated programs needs Linux 6.7' >&2; exit 126; }\n\
                        printf %s \"$1\" > /proc/sys/fs/binfmt_misc/register && shift && exec \"$@\"";

impl Emulator {
    /// The emulator for aarch64, which Debian has in qemu-user-static.
    pub(crate) fn aarch64() -> Self {
        // A program in 64 bits, little-endian, for machine 183. `F` opens the emulator at once: the root of a place does not have it.
        let (begins, counts) = (
            r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00",
            r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff",
        );
        let registration = format!(":sortie:M::{begins}:{counts}:/usr/bin/qemu-aarch64-static:F");
        Self { registration }
    }

    /// Starts a program where programs of the other processor run.
    fn before(&self, program: &str) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "--", "sh", "-c", REGISTER, "sh"]);
        command.args([&self.registration, program]);
        command
    }
}

/// Where Rust, its downloads and this checkout are.
fn rust_folders() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let named = |variable: &str, otherwise: &str| {
        std::env::var_os(variable).map_or_else(|| home.join(otherwise), PathBuf::from)
    };
    let folders = [named("CARGO_HOME", ".cargo"), named("RUSTUP_HOME", ".rustup"), PathBuf::from(".")];
    folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect()
}
