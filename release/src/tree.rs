//! Files in memory, and the archives that hold them. The same files give the same bytes: paths are sorted, and times, owners and
//! compression are fixed.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc, GzBuilder};

/// The longest path that a tar header holds in one field.
const MAX_TAR_PATH: usize = 100;
const TAR_BLOCK: usize = 512;
/// 1980-01-01, the first day that a zip file knows.
const ZIP_DATE: u16 = (1 << 5) | 1;

/// A file: what it holds, and whether it is a program.
struct TreeFile {
    content: Vec<u8>,
    executable: bool,
}

/// Whose a folder is, and who may do what with it.
#[derive(Clone, Copy)]
pub(crate) struct FolderMode {
    pub(crate) mode: u32,
    pub(crate) owner: u32,
}

/// Files by path. Paths are relative, with `/` between folders.
#[derive(Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, TreeFile>,
    /// Folders that are empty, or not root's.
    folders: BTreeMap<String, FolderMode>,
}

impl Tree {
    pub(crate) fn add(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.files.insert(path.into(), TreeFile { content: content.into(), executable: false });
    }

    pub(crate) fn add_program(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.files.insert(path.into(), TreeFile { content: content.into(), executable: true });
    }

    pub(crate) fn add_folder(&mut self, path: &str, mode: FolderMode) {
        self.folders.insert(format!("{path}/"), mode);
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, file)| (path.as_str(), file.content.as_slice()))
    }

    /// A tar archive (ustar), with an entry for every folder. `root` stands before every path: `./`, `package/` or nothing.
    pub(crate) fn to_tar(&self, root: &str, time: u64) -> Vec<u8> {
        let mut tar = Vec::new();
        for (path, FolderMode { mode, owner }) in self.all_folders(root) {
            tar.extend(TarHeader { path: &path, kind: b'5', mode, owner, size: 0, time }.to_bytes());
        }
        for (path, file) in &self.files {
            let (path, size) = (&format!("{root}{path}"), file.content.len());
            let mode = if file.executable { 0o755 } else { 0o644 };
            tar.extend(TarHeader { path, kind: b'0', mode, owner: 0, size, time }.to_bytes());
            tar.extend(&file.content);
            tar.resize(tar.len().next_multiple_of(TAR_BLOCK), 0);
        }
        tar.resize(tar.len() + 2 * TAR_BLOCK, 0);
        tar
    }

    /// Every folder, each before what is in it.
    fn all_folders(&self, root: &str) -> BTreeMap<String, FolderMode> {
        let own = self.folders.iter().map(|(path, mode)| (format!("{root}{path}"), *mode));
        let paths = self.files.keys().map(|path| format!("{root}{path}"));
        let above = paths.flat_map(|path| {
            let ends: Vec<usize> = path.match_indices('/').map(|(at, _)| at + 1).collect();
            ends.into_iter().map(move |end| (path[..end].to_owned(), FolderMode { mode: 0o755, owner: 0 }))
        });
        above.chain(own).collect()
    }

    /// A zip archive.
    pub(crate) fn to_zip(&self) -> Vec<u8> {
        let mut zip = Vec::new();
        let mut directory = Vec::new();
        for (path, file) in &self.files {
            let header = ZipHeader::new(path, file, zip.len());
            zip.extend(b"PK\x03\x04");
            zip.extend(header.shared_fields());
            zip.extend(path.as_bytes());
            zip.extend(&header.packed);
            directory.extend(b"PK\x01\x02\x14\x03");
            directory.extend(header.shared_fields());
            directory.extend(header.directory_fields());
            directory.extend(path.as_bytes());
        }
        let (start, count) = (zip.len(), u16_of(self.files.len()));
        zip.extend(&directory);
        zip.extend(b"PK\x05\x06\0\0\0\0");
        zip.extend(count.to_le_bytes());
        zip.extend(count.to_le_bytes());
        zip.extend(u32_of(directory.len()).to_le_bytes());
        zip.extend(u32_of(start).to_le_bytes());
        zip.extend([0, 0]);
        zip
    }
}

/// An entry of a tar archive.
struct TarHeader<'a> {
    path: &'a str,
    kind: u8,
    mode: u32,
    owner: u32,
    size: usize,
    time: u64,
}

impl TarHeader<'_> {
    fn to_bytes(&self) -> [u8; TAR_BLOCK] {
        let Self { path, kind, mode, owner, size, time } = self;
        assert!(path.len() <= MAX_TAR_PATH, "`{path}` is too long for a tar header");
        let mut header = [0; TAR_BLOCK];
        let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
        put(0, path);
        put(100, &format!("{mode:07o}"));
        put(108, &format!("{owner:07o}"));
        put(116, &format!("{owner:07o}"));
        put(124, &format!("{size:011o}"));
        put(136, &format!("{time:011o}"));
        // The checksum counts its own field as spaces.
        put(148, "        ");
        put(257, "ustar\u{0}00");
        header[156] = *kind;
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        header
    }
}

/// What both places of a zip file say about an entry.
struct ZipHeader {
    name_length: u16,
    checksum: u32,
    packed: Vec<u8>,
    size: u32,
    mode: u32,
    offset: u32,
}

impl ZipHeader {
    fn new(path: &str, file: &TreeFile, offset: usize) -> Self {
        let mut checksum = Crc::new();
        checksum.update(&file.content);
        let mut packer = DeflateEncoder::new(Vec::new(), Compression::best());
        // Writing to memory cannot fail.
        let packed = packer.write_all(&file.content).and_then(|()| packer.finish()).unwrap_or_default();
        Self {
            name_length: u16_of(path.len()),
            checksum: checksum.sum(),
            packed,
            size: u32_of(file.content.len()),
            mode: if file.executable { 0o100_755 } else { 0o100_644 },
            offset: u32_of(offset),
        }
    }

    /// From the version that can read it to the length of the extra field.
    fn shared_fields(&self) -> Vec<u8> {
        let words = |words: &[u16]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        // Version 2.0, names in UTF-8, deflate, midnight of that day.
        let mut fields = words(&[20, 1 << 11, 8, 0, ZIP_DATE]);
        fields.extend(self.checksum.to_le_bytes());
        fields.extend(u32_of(self.packed.len()).to_le_bytes());
        fields.extend(self.size.to_le_bytes());
        fields.extend(words(&[self.name_length, 0]));
        fields
    }

    /// What only the directory has: no comment, first disk, no attributes of DOS, the mode, where the entry is.
    fn directory_fields(&self) -> Vec<u8> {
        let mut fields = vec![0; 6];
        fields.extend((self.mode << 16).to_le_bytes());
        fields.extend(self.offset.to_le_bytes());
        fields
    }
}

/// Compresses as `gzip -9n` would: without a name and a time.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer: GzEncoder<Vec<u8>> = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    packer.write_all(bytes).and_then(|()| packer.finish()).unwrap_or_default()
}

/// An `ar` archive, as Debian packages are.
pub(crate) fn to_ar(members: &[(&str, Vec<u8>)], time: u64) -> Vec<u8> {
    let mut ar = b"!<arch>\n".to_vec();
    for (name, content) in members {
        ar.extend(
            format!("{name:<16}{time:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, "100644", content.len()).bytes(),
        );
        ar.extend(content);
        if content.len() % 2 == 1 {
            ar.push(b'\n');
        }
    }
    ar
}

/// What we pack is far below 4 GB and 65,536 files.
fn u32_of(number: usize) -> u32 {
    u32::try_from(number).expect("below 4 GB")
}

fn u16_of(number: usize) -> u16 {
    u16::try_from(number).expect("below 65,536")
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    fn few() -> Tree {
        let mut tree = Tree::default();
        tree.add_program("bin/tool", "#!/bin/sh\necho it runs\n");
        tree.add("share/doc/read me.txt", "words\n".repeat(500));
        tree
    }

    fn output(program: &str, arguments: &[&str], folder: &Path) -> String {
        let output = Command::new(program).args(arguments).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn check_unpacked(folder: &Path) {
        assert_eq!(std::fs::read_to_string(folder.join("share/doc/read me.txt")).unwrap().len(), 3000);
        assert_eq!(output("bin/tool", &[], folder), "it runs\n");
    }

    #[test]
    fn tar_unpacks_what_was_packed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.tar.gz"), gzip(&few().to_tar("./", 1_700_000_000))).unwrap();
        output("tar", &["-xzf", "a.tar.gz"], folder.path());
        check_unpacked(folder.path());
        let listed = output("tar", &["-tvzf", "a.tar.gz", "--utc", "--numeric-owner"], folder.path());
        assert!(listed.contains("-rwxr-xr-x 0/0"), "{listed}");
        assert!(listed.contains("2023-11-14 22:13"), "{listed}");
    }

    #[test]
    fn zip_unpacks_what_was_packed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.zip"), few().to_zip()).unwrap();
        let unpack = "import sys, zipfile, os\nz = zipfile.ZipFile('a.zip')\nassert z.testzip() is None\nz.extractall()\n\
                      [os.chmod(i.filename, i.external_attr >> 16) for i in z.infolist()]";
        output("python3", &["-c", unpack], folder.path());
        check_unpacked(folder.path());
    }

    #[test]
    fn ar_lists_its_members() {
        let folder = tempfile::tempdir().unwrap();
        let ar = to_ar(
            &[("debian-binary", b"2.0\n".to_vec()), ("odd", b"odd".to_vec()), ("last", b"z".to_vec())],
            0,
        );
        std::fs::write(folder.path().join("a.deb"), ar).unwrap();
        assert_eq!(output("ar", &["t", "a.deb"], folder.path()), "debian-binary\nodd\nlast\n");
        assert_eq!(output("ar", &["p", "a.deb", "odd"], folder.path()), "odd");
    }
}
