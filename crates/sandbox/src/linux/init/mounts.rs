//! The file systems that a server sees: the host's, read-only, with `/tmp`, `/run` and `/dev` of its own.

use std::ffi::{CStr, CString, OsString};
use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, StatVfsMountFlags, open, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change, mount_remount,
};

use super::InitError;
use crate::layout::ROOT;
use crate::message::Setup;

/// What the server can write to, all of it in memory.
const WRITABLE: [&str; 2] = ["/tmp", "/dev/shm"];

/// What the server sees nothing of but what is put back. `/run` holds sockets of the system and of the user, and `/dev` has devices, which are
/// open to whoever owns them, read-only or not.
const REPLACED: [&str; 3] = ["/tmp", "/run", "/dev"];

/// The devices that every program may use.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Links among the devices.
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
];

/// Replaces what the server is not to see, puts back what it needs, and makes everything else read-only.
pub(super) fn replace(setup: &Setup) -> Result<(), InitError> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(InitError::step("mounts of its own"))?;
    let kept: Vec<(&Path, OwnedFd)> = setup
        .kept
        .iter()
        .map(PathBuf::as_path)
        .chain(DEVICES.map(Path::new))
        .filter_map(|path| Some((path, open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?)))
        .collect();
    let size = format!("size={},nr_inodes=50000,mode=1777", setup.limits.disk);
    let size = CString::new(size).unwrap_or_default();
    for folder in REPLACED.map(Path::new).into_iter().filter(|folder| folder.is_dir()) {
        mount_memory(folder, &size)?;
    }
    for (target, link) in DEVICE_LINKS {
        symlink(target, link).map_err(InitError::step(link))?;
    }
    fs::create_dir("/dev/shm").map_err(InitError::step("/dev/shm"))?;
    mount_memory(Path::new("/dev/shm"), &size)?;
    for (path, file) in kept {
        put_back(path, &file)?;
    }
    for path in &setup.hidden {
        hide(path)?;
    }
    fs::create_dir_all(ROOT).map_err(InitError::step(ROOT))?;
    make_read_only()
}

/// A file system in memory that says when each file was read.
fn mount_memory(folder: &Path, options: &CStr) -> Result<(), InitError> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::STRICTATIME;
    mount("tmpfs", folder, "tmpfs", flags, options)
        .map_err(InitError::step(format!("`{}` of its own", folder.display())))
}

fn put_back(path: &Path, file: &OwnedFd) -> Result<(), InitError> {
    let step = || format!("`{}` cannot be kept", path.display());
    let source = format!("/proc/self/fd/{}", file.as_raw_fd());
    if Path::new(&source).is_dir() {
        fs::create_dir_all(path).map_err(InitError::step(step()))?;
    } else {
        fs::write(path, "").map_err(InitError::step(step()))?;
    }
    mount_bind_recursive(source, path).map_err(InitError::step(step()))
}

fn hide(path: &Path) -> Result<(), InitError> {
    if path.is_dir() {
        return mount_memory(path, c"size=4096,mode=0755");
    }
    mount_bind("/dev/null", path).map_err(InitError::step(format!("`{}` cannot be hidden", path.display())))
}

fn make_read_only() -> Result<(), InitError> {
    let table = fs::read("/proc/self/mountinfo").map_err(InitError::step("the list of mounts"))?;
    let mounts: Vec<_> = table.split(|byte| *byte == b'\n').filter_map(mounted).collect();
    let others = mounts.iter().filter(|(path, _)| !WRITABLE.iter().any(|folder| path == Path::new(folder)));
    for (path, flags) in others {
        // Mounts below a replaced folder cannot be reached any more.
        let _ = mount_remount(path, MountFlags::BIND | MountFlags::RDONLY | *flags, "");
        let is_read_only = |found: rustix::fs::StatVfs| found.f_flag.contains(StatVfsMountFlags::RDONLY);
        if statvfs(path).is_ok_and(|found| !is_read_only(found)) {
            return Err(InitError::Writable(path.clone()));
        }
    }
    Ok(())
}

/// The path of a mount, and the flags that it has to keep, of a line of `mountinfo`.
fn mounted(line: &[u8]) -> Option<(PathBuf, MountFlags)> {
    let mut fields = line.split(|byte| *byte == b' ').skip(4);
    let path = unescaped(fields.next()?);
    let mut flags = MountFlags::empty();
    for option in fields.next()?.split(|byte| *byte == b',') {
        flags |= match option {
            b"nosuid" => MountFlags::NOSUID,
            b"nodev" => MountFlags::NODEV,
            b"noexec" => MountFlags::NOEXEC,
            b"noatime" => MountFlags::NOATIME,
            b"nodiratime" => MountFlags::NODIRATIME,
            b"relatime" => MountFlags::RELATIME,
            _ => MountFlags::empty(),
        };
    }
    Some((path, flags))
}

/// A path with `\040` and the like for what would end it.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut path = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        let code = (*first == b'\\').then(|| after.get(..3)).flatten();
        let octal = code.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        path.push(octal.unwrap_or(*first));
        rest = if octal.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(OsString::from_vec(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mountinfo_has_a_path_and_flags() {
        let line =
            br"36 35 98:0 /mnt1 /mnt/a\040b rw,noatime,nosuid master:1 - ext3 /dev/root rw,errors=continue";
        let (path, flags) = mounted(line).unwrap();
        assert_eq!(path, Path::new("/mnt/a b"));
        assert_eq!(flags, MountFlags::NOATIME | MountFlags::NOSUID);
        assert_eq!(mounted(b""), None);
        assert_eq!(unescaped(br"a\9b\1"), Path::new(r"a\9b\1"));
    }
}
