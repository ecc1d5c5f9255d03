//! Attacks an MCP server with evaluators, and prints what came of it.
//!
//! ```text
//! cargo run --example attack -p sortie-engine -- evaluators run-folder 8 node server.js
//! ```

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use sortie_engine::cases::{
    CaseVerdict, DISCOVERY, DecidedBy, Missing, Options, Results, discover, plan, run,
};
use sortie_engine::modes::{self, Address, McpRevision};
use sortie_engine::targets::Target;
use sortie_evaluators::{File, Root, TargetClass, Values, load};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |what| arguments.next().ok_or(what);
    let (evaluators, folder) = (next("which evaluators?")?, next("which folder?")?);
    let jobs = next("how many at once?")?.parse()?;
    let command: Vec<String> = arguments.collect();

    let mut files = Vec::new();
    read(Path::new(&evaluators), Path::new(&evaluators), &mut files)?;
    let loaded = load(&[Root::new(&evaluators, files)], &[]);
    let ids = loaded.catalogue.of(TargetClass::Mcp).map(|entry| entry.evaluator.id.as_str());
    let entries = loaded.catalogue.in_order(ids);

    let env = ["PATH", "HOME"].map(|name| (name.to_owned(), std::env::var(name).unwrap_or_default()));
    let at = modes::Endpoint { address: Address::Stdio(command), headers: Vec::new(), env: env.to_vec() };
    let target = Target::Mcp { at, wire: McpRevision::Auto };
    let discovery = discover(&target, DISCOVERY, &Options::default()).await?;
    let offer = &discovery.offer;
    let planned = plan(&entries, offer, target.kind(), &Values::new(), Missing::Skip)?;
    println!("{} evaluators, {} tools, {} planned", entries.len(), offer.tools.len(), planned.len());

    std::fs::create_dir_all(&folder)?;
    let folder = Path::new(&folder);
    let results = if Results::path(folder).exists() {
        Results::resume(folder, &planned)?
    } else {
        Results::create(folder, &planned)?
    };
    let start = Instant::now();
    let options = Options { jobs, ..Options::default() };
    let played = run(&target, &discovery, &planned, results, folder, options).await?;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for result in &played.results {
        *counts.entry(result.verdict.as_str()).or_default() += 1;
        if matches!(result.verdict, CaseVerdict::Exploited | CaseVerdict::Error) {
            println!("{}: {}: {}", result.verdict.as_str(), result.id, result.reason);
            if let Some(DecidedBy::Check { path, text, .. }) = &result.decided_by {
                println!("    {path}: {}", text.as_deref().unwrap_or_default().escape_debug());
            }
        }
    }
    println!("{counts:?} in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn read(root: &Path, folder: &Path, files: &mut Vec<File>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "yaml") {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            files.push(File::text(name, std::fs::read_to_string(&path)?));
        }
    }
    Ok(())
}
