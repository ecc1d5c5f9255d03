//! The files that the program carries: packed by `build.rs`, unpacked when somebody first asks for them.

use miniz_oxide::inflate::decompress_to_vec;

/// Where a file stands in its folder, and its text.
pub(crate) type CarriedFile = (&'static str, &'static str);

/// The files of a folder of this crate, in the order of their paths.
macro_rules! carried {
    ($folder:literal) => {
        $crate::carried::unpack(
            include_bytes!(concat!(env!("OUT_DIR"), "/", $folder, ".deflate")),
            include!(concat!(env!("OUT_DIR"), "/", $folder, ".rs")),
        )
    };
}
pub(crate) use carried;

/// Unpacks the texts of these paths and lengths. They stay in memory, as they would if they were part of the program.
pub(crate) fn unpack(packed: &[u8], files: &[(&'static str, usize)]) -> Vec<CarriedFile> {
    let texts = decompress_to_vec(packed).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    // Both come from one run of `build.rs`, which packs nothing but valid text.
    let mut rest: &'static str = texts.expect("what the build packed can be unpacked").leak();
    let unpacked = files.iter().map(|(path, length)| {
        let (text, after) = rest.split_at(*length);
        rest = after;
        (*path, text)
    });
    unpacked.collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_carried_is_what_the_folder_holds() {
        for (folder, files) in [
            ("documents", carried!("documents")),
            ("servers", carried!("servers")),
            ("evaluators", carried!("evaluators")),
        ] {
            assert!(files.len() > 5, "{folder} has {} files", files.len());
            for (path, text) in files {
                let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(path);
                assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "{}", file.display());
            }
        }
    }
}
