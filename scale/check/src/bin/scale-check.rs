//! Scans the same traces in every way, compares the rows, and prints how long each took.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use sortie_scale_check::cluster::Cluster;
use sortie_scale_check::corpus::{self, Corpus, CorpusSize};
use sortie_scale_check::cpu;
use sortie_scale_check::rows::{RowScope, differences, rows_of};

const USAGE: &str = "\
usage: scale-check --sortie PROGRAM [--programs DIR] [--python PYTHON] [--repository DIR] [--folder DIR] [--messages N]

  --sortie PROGRAM   the program `sortie`
  --programs DIR     where sortie-sql, sortie-scheduler and sortie-executor are. Default: beside this program
  --python PYTHON    a Python with DataFusion's package; without it, nothing is scanned from Python
  --repository DIR   whose recordings the traces are made of. Default: the current folder
  --folder DIR       for the traces, which are kept. Default: a temporary folder
  --messages N       number of messages. Default: 1000000";

/// The longest that one way may take.
const DEADLINE: Duration = Duration::from_hours(1);
/// The traces take no more than this, in bytes.
const MAX_BYTES: u64 = 4_000_000_000;
/// A round price for an hour of a core, to be replaced with one's own.
const CORE_HOUR: f64 = 0.05;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match Check::from_arguments().and_then(|mut check| check.run()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

struct Check {
    sortie: PathBuf,
    programs: PathBuf,
    python: Option<PathBuf>,
    repository: PathBuf,
    folder: PathBuf,
    messages: u64,
    /// Removed at the end.
    _scratch: Option<tempfile::TempDir>,
    corpus: Corpus,
    /// Time on a processor of each way.
    costs: Vec<(String, Duration)>,
    is_same: bool,
}

/// What a way of scanning gave.
struct Scanned {
    rows: String,
    time: Duration,
    /// Time on a processor, where the system says it.
    cpu: Option<Duration>,
    /// Bytes of files that were read, where the program says so.
    read: Option<u64>,
    /// How often a query was run again as a whole.
    reruns: usize,
}

impl Check {
    fn from_arguments() -> Outcome<Self> {
        let mut arguments = std::env::args().skip(1);
        let (mut sortie, mut programs, mut python, mut repository, mut folder, mut messages) =
            (None, None, None, None, None, 1_000_000);
        while let Some(word) = arguments.next() {
            let value = arguments.next().ok_or(USAGE)?;
            match word.as_str() {
                "--sortie" => sortie = Some(PathBuf::from(value)),
                "--programs" => programs = Some(PathBuf::from(value)),
                "--python" => python = Some(std::path::absolute(value)?),
                "--repository" => repository = Some(PathBuf::from(value)),
                "--folder" => folder = Some(PathBuf::from(value)),
                "--messages" => messages = value.parse()?,
                _ => return Err(USAGE.into()),
            }
        }
        let beside = std::env::current_exe()?.parent().map(Path::to_owned).ok_or(USAGE)?;
        let scratch = if folder.is_none() { Some(tempfile::tempdir()?) } else { None };
        let folder =
            folder.or_else(|| scratch.as_ref().map(|scratch| scratch.path().to_owned())).ok_or(USAGE)?;
        fs::create_dir_all(&folder)?;
        // Programs run in that folder.
        Ok(Self {
            sortie: fs::canonicalize(sortie.ok_or(USAGE)?)?,
            programs: fs::canonicalize(programs.unwrap_or(beside))?,
            python,
            repository: fs::canonicalize(repository.unwrap_or_else(|| ".".into()))?,
            folder: fs::canonicalize(folder)?,
            messages,
            _scratch: scratch,
            corpus: Corpus::default(),
            costs: Vec::new(),
            is_same: true,
        })
    }

    fn run(&mut self) -> Outcome<bool> {
        let traces = self.folder.join("traces");
        let parquet = self.folder.join("traces.parquet");
        let _ = fs::remove_dir_all(&traces);
        let size = CorpusSize { messages: self.messages, bytes: MAX_BYTES, file: 64_000_000 };
        self.corpus = corpus::write(&corpus::recordings(&self.repository)?, &traces, size)?;
        let Corpus { files, sessions, messages, bytes } = self.corpus;
        println!("{messages} messages in {sessions} sessions: {bytes} bytes in {files} files\n");
        if messages < self.messages {
            return Err(
                format!("{messages} messages took {MAX_BYTES} bytes: use a smaller `--messages`").into()
            );
        }

        // One machine.
        let (lines, table) = (text(&traces), text(&parquet));
        let one = self.scan("1", &lines)?;
        let two = self.scan("2", &lines)?;
        let expected = rows_of(&one.rows, RowScope::Session)?;
        println!(
            "{} rows: {} findings, {} errors\n",
            expected.len(),
            count(&expected, "finding"),
            count(&expected, "error")
        );
        if expected.is_empty() {
            return Err("the traces have no finding, so that there is nothing to compare".into());
        }
        self.report("sortie scan, 1 thread", &one);
        self.report("sortie scan, 2 threads", &two);
        self.compare("sortie scan, 2 threads", &expected, &rows_of(&two.rows, RowScope::Session)?);
        let watched = self.watch(&lines)?;
        self.report("sortie watch --follow", &watched);
        self.compare("sortie watch --follow", &expected, &rows_of(&watched.rows, RowScope::Session)?);
        let sql = format!("SELECT * FROM oatf_scan('{lines}', 'library')");
        for partitions in ["1", "2"] {
            let found = self.sql(&["--partitions", partitions, &sql])?;
            let name = format!("oatf_scan, {partitions} partitions");
            self.report(&name, &found);
            self.compare(&name, &expected, &rows_of(&found.rows, RowScope::Session)?);
        }

        // Parquet.
        let exported = self.sortie(&["trace", "export", "--parquet", &table, &lines])?;
        self.report("sortie trace export --parquet", &exported);
        let packed = fs::metadata(&parquet)?.len();
        println!("  {packed} bytes, 1/{:.1} of the lines", ratio(bytes, packed));
        let of_parquet = self.scan("1", &table)?;
        self.report("sortie scan of Parquet, 1 thread", &of_parquet);
        let expected_parquet = rows_of(&of_parquet.rows, RowScope::Session)?;
        self.compare(
            "sortie scan of Parquet",
            &without_source(&one.rows)?,
            &without_source(&of_parquet.rows)?,
        );
        for partitions in ["1", "2"] {
            let found = self.sql(&[
                "--partitions",
                partitions,
                &format!("SELECT * FROM oatf_scan('{table}', 'library')"),
            ])?;
            let name = format!("oatf_scan of Parquet, {partitions} partitions");
            self.report(&name, &found);
            self.compare(&name, &expected_parquet, &rows_of(&found.rows, RowScope::Session)?);
        }
        let message_sql = format!(
            "SELECT '{table}' AS source, session, finding FROM
             (SELECT session, unnest(oatf_findings('library', record)) AS finding FROM '{table}')"
        );
        let found = self.sql(&["--partitions", "2", &message_sql])?;
        self.report("oatf_findings of Parquet, 2 partitions", &found);
        let single = rows_of(&of_parquet.rows, RowScope::Message)?;
        self.compare("oatf_findings of Parquet", &single, &rows_of(&found.rows, RowScope::Message)?);

        self.python(&sql, &expected, &message_sql, &single)?;
        self.pushdown(&table)?;
        self.cluster(&sql, &expected)?;
        self.costs();
        println!("\n{}", if self.is_same { "every way gave the same rows" } else { "the rows differ" });
        Ok(self.is_same)
    }

    /// What a watch writes that follows the same traces.
    fn watch(&self, traces: &str) -> Outcome<Scanned> {
        let out = self.folder.join("watched.jsonl");
        let _ = fs::remove_file(&out);
        let arguments = ["watch", "--follow", traces, "--until-idle", "3s", "--out", &text(&out)];
        let ended = self.sortie(&arguments)?;
        // It waits for more before it ends.
        Ok(Scanned {
            rows: fs::read_to_string(out)?,
            time: ended.time.saturating_sub(Duration::from_secs(3)),
            ..ended
        })
    }

    /// The same queries with `DataFusion`'s Python package.
    fn python(
        &mut self,
        sql: &str,
        expected: &[String],
        message_sql: &str,
        single: &[String],
    ) -> Outcome<()> {
        let Some(python) = self.python.clone() else {
            println!("DataFusion's Python package is left out: there is no `--python`");
            return Ok(());
        };
        let module = self.folder.join("module");
        fs::create_dir_all(&module)?;
        fs::copy(self.programs.join("libsortie_datafusion.so"), module.join("sortie_datafusion.abi3.so"))?;
        let query = |sql: &str| -> Outcome<Scanned> {
            let script = self.repository.join("scale/python/tests/query.py");
            Run { command: Command::new(&python), folder: self.folder.clone() }
                .args(&[text(&script), text(&module), sql.to_owned()])
                .output_to(&self.folder.join("python"))?
                .wait()
        };
        let (whole, alone) = (query(sql)?, query(message_sql)?);
        // Every record of a file is held until its sessions have their verdicts: one file is enough.
        let verdicts = format!(
            "SELECT session, oatf_verdict('library', 'SRT-001', record) AS verdict FROM oatf_records('{}') GROUP BY session",
            text(&self.folder.join("traces/traces-0000.jsonl"))
        );
        let (here, there) = (self.sql(&[&verdicts])?, query(&verdicts)?);
        self.report("Python, oatf_scan", &whole);
        self.compare("Python, oatf_scan", expected, &rows_of(&whole.rows, RowScope::Session)?);
        self.report("Python, oatf_findings of Parquet", &alone);
        self.compare("Python, oatf_findings", single, &rows_of(&alone.rows, RowScope::Message)?);
        let (here, there) =
            (rows_of(&here.rows, RowScope::Session)?, rows_of(&there.rows, RowScope::Session)?);
        println!("  {} verdicts of SRT-001 in the first file", here.len());
        self.compare("Python, oatf_verdict", &here, &there);
        Ok(())
    }

    /// What is read of a Parquet file for queries that ask for a part of it.
    fn pushdown(&mut self, table: &str) -> Outcome<()> {
        println!("\nbytes read of {table}:");
        let day = "time >= '2026-01-02T00:00:00Z' AND time < '2026-01-03T00:00:00Z'";
        for (what, filter) in [
            ("everything", "true".to_owned()),
            ("protocol = 'a2a'", "protocol = 'a2a'".to_owned()),
            ("surface = 'tools/call'", "protocol = 'mcp' AND surface = 'tools/call'".to_owned()),
            ("surface = 'resources/read'", "protocol = 'mcp' AND surface = 'resources/read'".to_owned()),
            ("one day", day.to_owned()),
            (
                "surface = 'tools/call', one day",
                format!("protocol = 'mcp' AND surface = 'tools/call' AND {day}"),
            ),
        ] {
            let sql = format!(
                "SELECT count(*) AS messages, sum(cardinality(oatf_findings('library', record))) AS findings FROM '{table}' WHERE {filter}"
            );
            let mut answers = Vec::new();
            for pushdown in ["true", "false"] {
                let settings = ["pushdown_filters", "enable_page_index", "pruning"]
                    .map(|name| format!("SET datafusion.execution.parquet.{name} = {pushdown}"));
                let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
                let found = self.sql(&[&["--partitions", "1"], &settings[..], &[&sql]].concat())?;
                let (name, read) =
                    (if pushdown == "true" { "with" } else { "without" }, found.read.unwrap_or_default());
                println!(
                    "  {what:<34} {name:>7} pushdown {read:>12} bytes {:>8.2} s  {}",
                    found.time.as_secs_f64(),
                    found.rows.trim()
                );
                answers.push(rows_of(&found.rows, RowScope::Session)?);
            }
            self.compare(what, &answers[1], &answers[0]);
        }
        Ok(())
    }

    fn cluster(&mut self, sql: &str, expected: &[String]) -> Outcome<()> {
        println!();
        let mut times = Vec::new();
        for count in [1, 2, 3] {
            let cluster = Cluster::start(&self.programs, &self.folder, count)?;
            let before = cluster.cpu_time();
            let mut found = self.sql(&["--cluster", cluster.url(), sql])?;
            let used = cluster.cpu_time().zip(before).map(|(now, before)| now.saturating_sub(before));
            found.cpu = found.cpu.zip(used).map(|(client, cluster)| client + cluster);
            let name = format!("Ballista, executors with 1 core: {count}");
            self.report(&name, &found);
            self.compare(&name, expected, &rows_of(&found.rows, RowScope::Session)?);
            times.push(found.time.as_secs_f64());
        }
        println!("  speed-up of 2 executors on two cores: {:.2}", times[0] / times[1]);
        let mut cluster = Cluster::start(&self.programs, &self.folder, 3)?;
        let mut query = self
            .command("sortie-sql")
            .args(["--metrics", "--cluster", cluster.url(), sql])
            .output_to(&self.folder.join("killed"))?;
        let victim = cluster.kill_one_that_works()?;
        if query.child.try_wait()?.is_some() {
            return Err("the query ended before an executor was killed: use a larger `--messages`".into());
        }
        let found = query.wait()?;
        let name = format!("Ballista, executor {victim} of 3 killed");
        // What the killed one had used is not known.
        let found = Scanned { cpu: None, ..found };
        self.report(&name, &found);
        println!("  the query was run again as a whole {} times", found.reruns);
        self.compare(&name, expected, &rows_of(&found.rows, RowScope::Session)?);
        Ok(())
    }

    fn scan(&self, jobs: &str, path: &str) -> Outcome<Scanned> {
        self.sortie(&["scan", "--format", "jsonl", "--jobs", jobs, path])
    }

    fn sortie(&self, arguments: &[&str]) -> Outcome<Scanned> {
        Run { command: Command::new(&self.sortie), folder: self.folder.clone() }
            .args(arguments)
            .output_to(&self.folder.join("scan"))?
            .wait()
    }

    fn sql(&self, arguments: &[&str]) -> Outcome<Scanned> {
        self.command("sortie-sql")
            .args(["--metrics"])
            .args(arguments)
            .output_to(&self.folder.join("sql"))?
            .wait()
    }

    fn command(&self, program: &str) -> Run {
        Run { command: Command::new(self.programs.join(program)), folder: self.folder.clone() }
    }

    fn report(&mut self, name: &str, found: &Scanned) {
        let seconds = found.time.as_secs_f64();
        let read = found.read.map(|read| format!(", {read} bytes read")).unwrap_or_default();
        let cpu = found.cpu.map(|cpu| format!("{:>8.2} CPU s", cpu.as_secs_f64())).unwrap_or_default();
        let rate = ratio(self.corpus.bytes, 1_000_000) / seconds;
        println!("{name:<42} {seconds:>8.2} s {cpu} {rate:>7.1} MB/s{read}");
        let _ = io::stdout().flush();
        self.costs.extend(found.cpu.map(|cpu| (name.to_owned(), cpu)));
    }

    /// What a terabyte of lines would cost, if it went on like this.
    fn costs(&self) {
        println!("\non paper, 1 TB of lines takes, and costs with {CORE_HOUR} USD for an hour of a core:");
        for (name, cpu) in &self.costs {
            let hours = cpu.as_secs_f64() / 3600.0 * ratio(1_000_000_000_000, self.corpus.bytes);
            println!("{name:<42} {hours:>7.1} core-hours {:>7.2} USD", hours * CORE_HOUR);
        }
    }

    fn compare(&mut self, name: &str, expected: &[String], found: &[String]) {
        let differences = differences(expected, found, 3);
        if !differences.is_empty() {
            self.is_same = false;
            println!(
                "  {name}: {} rows instead of {}:\n  {}",
                found.len(),
                expected.len(),
                differences.join("\n  ")
            );
        }
    }
}

/// A program that is run.
struct Run {
    command: Command,
    folder: PathBuf,
}

impl Run {
    fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Starts it. Its output goes to files beside this path.
    fn output_to(mut self, path: &Path) -> Outcome<Running> {
        let (out, notes) = (path.with_extension("out"), path.with_extension("err"));
        self.command.stdin(Stdio::null()).stdout(File::create(&out)?).stderr(File::create(&notes)?);
        self.command.current_dir(&self.folder);
        let cpu = cpu::of_ended_children();
        Ok(Running { started: Instant::now(), cpu, child: self.command.spawn()?, out, notes })
    }
}

/// A program that runs.
struct Running {
    child: Child,
    started: Instant,
    /// What children had used before it.
    cpu: Option<Duration>,
    out: PathBuf,
    notes: PathBuf,
}

impl Running {
    /// Waits for its end. Findings are an end with 1.
    fn wait(mut self) -> Outcome<Scanned> {
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if self.started.elapsed() > DEADLINE {
                self.child.kill()?;
                return Err("a program took too long".into());
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let time = self.started.elapsed();
        let cpu = cpu::of_ended_children().zip(self.cpu).map(|(now, before)| now.saturating_sub(before));
        let notes = fs::read_to_string(&self.notes)?;
        if !matches!(status.code(), Some(0 | 1)) {
            return Err(format!("a program ended with {status}: {notes}").into());
        }
        let read = notes
            .lines()
            .rev()
            .find_map(|line| line.strip_suffix(" bytes read")?.rsplit(' ').next()?.parse().ok());
        let reruns = notes.lines().filter(|line| line.ends_with("running the query again")).count();
        Ok(Scanned { rows: fs::read_to_string(&self.out)?, time, cpu, read, reruns })
    }
}

fn without_source(rows: &str) -> Outcome<Vec<String>> {
    let mut lines = String::new();
    for line in rows.lines() {
        let mut row: serde_json::Value = serde_json::from_str(line)?;
        if let Some(members) = row.as_object_mut() {
            members.shift_remove("source");
        }
        lines += &row.to_string();
        lines.push('\n');
    }
    Ok(rows_of(&lines, RowScope::Session)?)
}

fn count(rows: &[String], kind: &str) -> usize {
    let member = format!("\"record\":\"{kind}\"");
    rows.iter().filter(|row| row.contains(&member)).count()
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[expect(clippy::cast_precision_loss, reason = "printed with one digit")]
fn ratio(one: u64, two: u64) -> f64 {
    one as f64 / two as f64
}
