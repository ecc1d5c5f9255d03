//! Samples of other projects, which are not ours to keep: `SORTIE_FIXTURES` names the folder that has `traces/openinference`.

use std::path::PathBuf;

use sortie_import::{Format, Formats, Input, InputLimits};

#[test]
#[ignore = "needs the samples of others: SORTIE_FIXTURES=… cargo xtask test"]
fn samples_of_other_projects_are_read() {
    let named = std::env::var_os("SORTIE_FIXTURES").expect("SORTIE_FIXTURES names the folder of fixtures");
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(named);
    let files = std::fs::read_dir(root.join("traces/openinference")).unwrap();
    let mut read = 0;
    for file in files.map(|entry| entry.unwrap().path()) {
        if file.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let mut input = Input::file(&file, &name, InputLimits::default()).unwrap();
        let head = input.head().unwrap();
        let format: &Format =
            Formats::recognize(&input.as_head(&head)).unwrap_or_else(|| panic!("{name} is not recognized"));
        let mut messages = 0;
        let told = format.read(input, &mut |session| {
            assert!(session.loss.unknown.is_empty(), "{name}: {:?}", session.loss.unknown);
            messages += session.messages().len();
            Ok(())
        });
        told.unwrap_or_else(|error| panic!("{error}"));
        assert!(messages > 0, "{name}, as {}", format.name);
        read += 1;
    }
    assert!(read >= 5, "{read} samples");
}
