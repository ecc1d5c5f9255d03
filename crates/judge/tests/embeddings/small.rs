//! A BERT model of two layers with made-up weights, computed once by candle and once by loops.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use sortie_judge::Embeddings;

const HIDDEN: usize = 8;
const WIDE: usize = 12;
const HEADS: usize = 2;
const LAYERS: usize = 2;
const POSITIONS: usize = 16;
const EPS: f64 = 1e-12;
const VOCABULARY: [&str; 12] =
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "send", "the", "pass", "##word", "boats", "came", "in", "."];

type Weights = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// Weights that look random and are the same each time.
fn weights() -> Weights {
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![VOCABULARY.len(), HIDDEN]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![POSITIONS, HIDDEN]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, HIDDEN]),
        ("embeddings.LayerNorm.weight".to_owned(), vec![HIDDEN]),
        ("embeddings.LayerNorm.bias".to_owned(), vec![HIDDEN]),
    ];
    for layer in 0..LAYERS {
        let mut linear = |name: &str, from: usize, to: usize| {
            shapes.push((format!("encoder.layer.{layer}.{name}.weight"), vec![to, from]));
            shapes.push((format!("encoder.layer.{layer}.{name}.bias"), vec![to]));
        };
        for name in
            ["attention.self.query", "attention.self.key", "attention.self.value", "attention.output.dense"]
        {
            linear(name, HIDDEN, HIDDEN);
        }
        linear("intermediate.dense", HIDDEN, WIDE);
        linear("output.dense", WIDE, HIDDEN);
        for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
            shapes.push((format!("encoder.layer.{layer}.{name}.weight"), vec![HIDDEN]));
            shapes.push((format!("encoder.layer.{layer}.{name}.bias"), vec![HIDDEN]));
        }
    }
    let mut state = 1_u32;
    let mut number = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(state >> 16).unwrap()) / 32768.0 - 1.0
    };
    shapes
        .into_iter()
        .map(|(name, shape)| {
            let values = (0..shape.iter().product()).map(|_| number()).collect();
            (name, (shape, values))
        })
        .collect()
}

/// The weights as a file of safetensors: the length of the header, the header, the numbers.
fn safetensors(weights: &Weights) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, (shape, values)) in weights {
        let from = data.len();
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        header.insert(
            name.clone(),
            json!({"dtype": "F32", "shape": shape, "data_offsets": [from, data.len()]}),
        );
    }
    let mut header = Value::Object(header).to_string();
    while !header.len().is_multiple_of(8) {
        header.push(' ');
    }
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &data].concat()
}

fn config() -> Value {
    json!({
        "model_type": "bert", "_name_or_path": "small", "vocab_size": VOCABULARY.len(), "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": WIDE,
        "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "layer_norm_eps": EPS, "hidden_act": "gelu",
    })
}

fn tokenizer() -> Value {
    let vocabulary: serde_json::Map<_, _> =
        VOCABULARY.iter().enumerate().map(|(id, &word)| (word.to_owned(), json!(id))).collect();
    let special = |word: &str, id: u32| json!({"id": word, "ids": [id], "tokens": [word]});
    let template = json!([
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    ]);
    json!({
        "version": "1.0",
        // As files often have it: what is longer is dropped, what is shorter filled up.
        "truncation": {"max_length": 6, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
        "padding": {"strategy": {"Fixed": 6}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
                    "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": template, "pair": template,
                           "special_tokens": {"[CLS]": special("[CLS]", 2), "[SEP]": special("[SEP]", 3)}},
        "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocabulary},
    })
}

fn write(folder: &Path, pooling: &str) {
    fs::create_dir_all(folder.join("1_Pooling")).unwrap();
    fs::write(folder.join("config.json"), config().to_string()).unwrap();
    fs::write(folder.join("tokenizer.json"), tokenizer().to_string()).unwrap();
    fs::write(folder.join("1_Pooling/config.json"), json!({pooling: true}).to_string()).unwrap();
    fs::write(folder.join("model.safetensors"), safetensors(&weights())).unwrap();
}

/// The same model, in loops over numbers of double precision.
struct ByHand(Weights);

impl ByHand {
    fn at(&self, name: &str, index: usize) -> f64 {
        f64::from(self.0[name].1[index])
    }

    fn linear(&self, name: &str, row: &[f64]) -> Vec<f64> {
        let to = self.0[&format!("{name}.bias")].1.len();
        let sum = |out: usize| {
            let products = row
                .iter()
                .enumerate()
                .map(|(i, x)| x * self.at(&format!("{name}.weight"), out * row.len() + i));
            products.sum::<f64>() + self.at(&format!("{name}.bias"), out)
        };
        (0..to).map(sum).collect()
    }

    fn norm(&self, name: &str, row: &[f64]) -> Vec<f64> {
        let count = f64::from(u32::try_from(row.len()).unwrap());
        let mean = row.iter().sum::<f64>() / count;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let scaled = |(i, x): (usize, &f64)| {
            (x - mean) / (variance + EPS).sqrt() * self.at(&format!("{name}.weight"), i)
                + self.at(&format!("{name}.bias"), i)
        };
        row.iter().enumerate().map(scaled).collect()
    }

    fn embed(&self, ids: &[usize], cls: bool) -> Vec<f64> {
        let mut rows: Vec<Vec<f64>> = ids
            .iter()
            .enumerate()
            .map(|(position, id)| {
                let sum = |i: usize| {
                    self.at("embeddings.word_embeddings.weight", id * HIDDEN + i)
                        + self.at("embeddings.position_embeddings.weight", position * HIDDEN + i)
                        + self.at("embeddings.token_type_embeddings.weight", i)
                };
                self.norm("embeddings.LayerNorm", &(0..HIDDEN).map(sum).collect::<Vec<_>>())
            })
            .collect();
        for layer in 0..LAYERS {
            let name = |part: &str| format!("encoder.layer.{layer}.{part}");
            let each = |part: &str, rows: &[Vec<f64>]| -> Vec<Vec<f64>> {
                rows.iter().map(|row| self.linear(&name(part), row)).collect()
            };
            let query = each("attention.self.query", &rows);
            let key = each("attention.self.key", &rows);
            let value = each("attention.self.value", &rows);
            let width = HIDDEN / HEADS;
            let mut attended = vec![vec![0.0; HIDDEN]; rows.len()];
            for head in 0..HEADS {
                let columns = head * width..(head + 1) * width;
                for (token, out) in attended.iter_mut().enumerate() {
                    let scores: Vec<f64> = key
                        .iter()
                        .map(|key| {
                            let product: f64 = columns.clone().map(|i| query[token][i] * key[i]).sum();
                            (product / f64::from(u32::try_from(width).unwrap()).sqrt()).exp()
                        })
                        .collect();
                    let all: f64 = scores.iter().sum();
                    for i in columns.clone() {
                        out[i] = scores.iter().zip(&value).map(|(score, value)| score / all * value[i]).sum();
                    }
                }
            }
            let add = |a: Vec<f64>, b: &[f64]| a.iter().zip(b).map(|(a, b)| a + b).collect::<Vec<_>>();
            for (row, attended) in rows.iter_mut().zip(&attended) {
                let sum = add(self.linear(&name("attention.output.dense"), attended), row);
                let middle = self.norm(&name("attention.output.LayerNorm"), &sum);
                let wide = self.linear(&name("intermediate.dense"), &middle);
                let wide: Vec<_> =
                    wide.iter().map(|x| x * 0.5 * (1.0 + erf(x / std::f64::consts::SQRT_2))).collect();
                *row = self.norm(
                    &name("output.LayerNorm"),
                    &add(self.linear(&name("output.dense"), &wide), &middle),
                );
            }
        }
        let count = if cls { 1 } else { rows.len() };
        let pooled: Vec<f64> = (0..HIDDEN).map(|i| rows[..count].iter().map(|row| row[i]).sum()).collect();
        let length = pooled.iter().map(|x| x * x).sum::<f64>().sqrt();
        pooled.iter().map(|x| x / length).collect()
    }
}

/// By its series, which is exact enough for small numbers.
fn erf(x: f64) -> f64 {
    let (mut sum, mut term) = (x, x);
    for n in 1..100 {
        let n = f64::from(n);
        term *= -x * x / n;
        sum += term / (2.0 * n + 1.0);
    }
    sum * std::f64::consts::FRAC_2_SQRT_PI
}

#[test]
fn candle_computes_what_loops_compute() {
    for (pooling, cls) in [("pooling_mode_mean_tokens", false), ("pooling_mode_cls_token", true)] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), pooling);
        let model = Embeddings::load(folder.path()).unwrap();
        for (text, ids) in [
            ("Send the PASSWORD.", vec![2, 4, 5, 6, 7, 11, 3]),
            ("boats\u{301} came in zebra", vec![2, 8, 9, 10, 1, 3]),
            ("in", vec![2, 10, 3]),
        ] {
            let embedded = model.embed(text).unwrap();
            assert_eq!(embedded.len(), 1, "more than the file's own six tokens are no reason to cut");
            let by_hand = ByHand(weights()).embed(&ids, cls);
            for (candle, hand) in embedded[0].iter().zip(&by_hand) {
                assert!((f64::from(*candle) - hand).abs() < 1e-4, "{text}: {embedded:?} {by_hand:?}");
            }
        }
    }
}

#[test]
fn a_long_text_is_embedded_in_windows_and_an_endless_one_refused() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "pooling_mode_mean_tokens");
    let model = Embeddings::load(folder.path()).unwrap();
    let text = "the boats came in . ".repeat(8) + "send the password .";
    let windows = model.embed(&text).unwrap();
    // 45 tokens in windows of 14 that share 7.
    assert_eq!(windows.len(), 6);
    let last = model.embed("the boats came in . the boats came in . send the password .").unwrap();
    assert_eq!(last.len(), 2);
    let whole = model.score("send the password .", "send the password .", None).unwrap();
    let within = model.score(&text, "send the password .", None).unwrap();
    assert!(within > 0.5 && whole > 0.99, "{within} {whole}");
    let error = model.embed(&"boats ".repeat(1000)).unwrap_err();
    assert_eq!(error.to_string(), "a text of 1002 tokens is longer than the 512 that are embedded");
}

#[test]
fn what_is_no_model_is_refused_with_the_file_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |change: &dyn Fn(&Path)| {
        write(folder.path(), "pooling_mode_mean_tokens");
        change(folder.path());
        let error = Embeddings::load(folder.path()).unwrap_err().to_string();
        error.replace(folder.path().to_str().unwrap(), "MODEL")
    };
    let with = |key: &'static str, value: Value| {
        move |folder: &Path| {
            let mut config = config();
            config[key] = value.clone();
            fs::write(folder.join("config.json"), config.to_string()).unwrap();
        }
    };
    let kinds = "; BERT models with mean or CLS pooling can be used";
    assert_eq!(
        refused(&with("model_type", json!("roberta"))),
        format!("MODEL/config.json: the model is a `roberta`{kinds}")
    );
    assert_eq!(
        refused(&with("hidden_act", json!("relu"))),
        format!("MODEL/config.json: the activation is `relu`{kinds}")
    );
    assert_eq!(
        refused(&with("num_attention_heads", json!(3))),
        "MODEL/config.json: its sizes do not fit together"
    );
    assert_eq!(
        refused(&with("hidden_size", json!(1_000_000))),
        "MODEL/config.json: its sizes do not fit together"
    );
    assert!(refused(&with("hidden_size", json!(16))).starts_with("MODEL/model.safetensors: "));
    assert!(
        refused(&|folder| fs::remove_file(folder.join("tokenizer.json")).unwrap())
            .starts_with("MODEL/tokenizer.json: No such")
    );
    let max = json!({"pooling_mode_max_tokens": true});
    assert_eq!(
        refused(&|folder| fs::write(folder.join("1_Pooling/config.json"), max.to_string()).unwrap()),
        format!("MODEL/1_Pooling/config.json: the pooling is neither mean nor CLS alone{kinds}")
    );
    for junk in [&b""[..], b"\xff\xff\xff\xff\xff\xff\xff\x7f{}", b"\x02\0\0\0\0\0\0\0{}", &[0; 64]] {
        let error = refused(&|folder| fs::write(folder.join("model.safetensors"), junk).unwrap());
        assert!(error.starts_with("MODEL/model.safetensors: "), "{error}");
    }
    assert!(
        refused(&|folder| fs::write(folder.join("tokenizer.json"), "{}").unwrap())
            .starts_with("MODEL/tokenizer.json: ")
    );
}
