//! The bundled evaluators of MCP servers against a server with planted faults and its careful twin, without a model.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use sortie_detect::{CaseResult, Outcome};
use sortie_engine::cases::{CaseTrace, CompiledEvaluator, DISCOVERY, Missing, PlayOptions, discover, plan};
use sortie_evaluators::{Catalogue, CompiledChecks, File, Root, TargetClass, Values, load};
use sortie_run::{Plan, RunStore};
use sortie_trace::Redactor;

use crate::cases::bench::{Asked, play};
use crate::cases::shop::{PLANTED, Shop};

fn bundled() -> Catalogue {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../library/evaluators");
    let mut files = Vec::new();
    read(&root, &root, &mut files);
    let loaded = load(&[Root::new("evaluators", files)], &[]);
    assert!(loaded.is_sound(), "{:#?}", loaded.findings);
    loaded.catalogue
}

fn read(root: &Path, folder: &Path, files: &mut Vec<File>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(root, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            files.push(File::text(name, std::fs::read_to_string(&path).unwrap()));
        }
    }
}

async fn attacked(weak: bool) -> Vec<Outcome> {
    let shop = Shop::open(weak).await;
    let target = shop.target();
    let discovery = discover(&target, DISCOVERY, &PlayOptions::default()).await.unwrap();
    let offer = &discovery.offer;
    let catalogue = bundled();
    let ids = catalogue.of(TargetClass::Mcp).map(|entry| entry.evaluator.id.as_str());
    let planned =
        plan(&catalogue.in_order(ids), offer, target.kind(), &Values::new(), Missing::Skip).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut whole = Plan::default();
    whole.add_evaluators(&planned);
    let store = RunStore::create(folder.path(), whole.info()).unwrap();
    let played = play(&target, &discovery, &planned, store, Asked { jobs: 8, ..Asked::default() }).await;
    assert!(played.unfinished.is_empty());
    assert_eq!(played.results.len(), planned.len(), "nothing is left out");
    for result in &played.results {
        same_by_its_trace(result, folder.path(), &catalogue).await;
    }
    played.results
}

/// The verdict of a case is that of its trace, evidence included; that of a review too.
async fn same_by_its_trace(result: &Outcome, folder: &Path, catalogue: &Catalogue) {
    let Some(path) = &result.trace else {
        assert!(
            matches!(result.verdict.result, CaseResult::Skipped | CaseResult::NotApplicable),
            "{result:?}"
        );
        return;
    };
    let file = std::fs::File::open(folder.join(path)).unwrap();
    let trace = CaseTrace::read(BufReader::new(file)).unwrap();
    let evaluator = catalogue.get(&trace.case.evaluator).unwrap().evaluator.clone();
    let checks = CompiledChecks::new(&evaluator.checks).unwrap();
    let rubric = Arc::new(CompiledEvaluator { evaluator, checks });
    let again = trace.decide(rubric, None, &Redactor::default(), Some(path.clone())).await.unwrap();
    assert_eq!(again, *result);
}

fn findings(results: &[Outcome]) -> BTreeSet<&str> {
    let found = results.iter().filter(|result| result.verdict.result == CaseResult::Exploited);
    found.map(|result| result.evaluator().unwrap().id.as_str()).collect()
}

#[tokio::test]
async fn planted_faults_are_found_and_each_finding_shows_where() {
    let results = attacked(true).await;
    let found = findings(&results);
    for planted in PLANTED {
        assert!(found.contains(planted), "{planted} is not among {found:?}");
    }
    // A database that complains is suspicious, and no more.
    let suspicious = results.iter().filter(|result| !result.hints.is_empty());
    let suspicious: BTreeSet<_> = suspicious.map(|result| result.evaluator().unwrap().id.as_str()).collect();
    assert!(suspicious.contains("sql-injection"), "{suspicious:?}");
    for result in results.iter().filter(|result| result.verdict.result == CaseResult::Exploited) {
        let [found] = &result.evidence[..] else { panic!("{result:?}") };
        assert!(found.text.is_some() && found.seq.is_some(), "{result:?}");
    }
    assert!(
        results.iter().all(|result| result.verdict.result != CaseResult::Error),
        "{:#?}",
        errors(&results)
    );
}

#[tokio::test]
async fn a_careful_server_has_no_findings_and_what_was_not_decided_says_why() {
    let results = attacked(false).await;
    assert_eq!(findings(&results), BTreeSet::new());
    assert_eq!(errors(&results), Vec::<&str>::new());
    let undecided =
        |result: &&Outcome| matches!(result.verdict.result, CaseResult::Skipped | CaseResult::NotApplicable);
    assert!(results.iter().filter(undecided).all(|result| result.verdict.reason.is_some()));
    assert!(results.iter().any(|result| result.verdict.result == CaseResult::NotExploited));
}

fn errors(results: &[Outcome]) -> Vec<&str> {
    let errors = results.iter().filter(|result| result.verdict.result == CaseResult::Error);
    errors.map(|result| result.verdict.reason.as_deref().unwrap_or_default()).collect()
}
