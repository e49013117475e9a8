use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Background, End, Ended, MOST, Refused, Spec};

/// Longer than any command here runs.
const LONG: Duration = Duration::from_secs(60);

fn spec(command: &str, folder: &Path) -> Spec {
    Spec {
        command: command.to_owned(),
        cwd: crate::process::Folder::at(folder).unwrap(),
        env: BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())]),
        timeout: Duration::MAX,
        keep: 1_000,
        spill: folder.join("spill"),
        confinement: None,
    }
}

fn alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.contains(") Z "))
}

struct Bench {
    folder: tempfile::TempDir,
    all: Background,
    turn: CancellationToken,
}

impl Bench {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            all: Background::default(),
            turn: CancellationToken::new(),
        }
    }

    fn start(&self, item: &str, command: &str) -> Result<(), Refused> {
        let spec = spec(command, self.folder.path());
        self.all.start(item, &spec, self.turn.clone())
    }

    /// Starts a shell with a sleeping child. Returns the ids of both.
    async fn sleeper(&self, item: &str) -> Vec<String> {
        self.start(item, "sleep 300 & echo $$ $!; wait").unwrap();
        let output = self.all.get(item).unwrap().read(LONG).await;
        output.text.split_whitespace().map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn each_read_returns_new_output_and_the_last_one_the_end() {
    let bench = Bench::new();
    let command = "mkfifo go; echo one; cat go >/dev/null; echo two; exit 3";
    bench.start("a", command).unwrap();
    let command = bench.all.get("a").unwrap();
    let first = command.read(LONG).await;
    assert_eq!((first.text.as_str(), &first.ended), ("one\n", &None));
    assert_eq!(command.read(Duration::ZERO).await.text, "");
    assert!(bench.all.unreported().is_empty());
    let go = bench.folder.path().join("go");
    tokio::task::spawn_blocking(move || std::fs::write(go, "x"));
    let mut text = String::new();
    let ended = loop {
        let output = command.read(LONG).await;
        text.push_str(&output.text);
        if let Some(ended) = output.ended {
            break ended;
        }
    };
    assert_eq!(text, "two\n");
    assert_eq!((ended.end, ended.left), (End::Exited(3), 0));
    assert!(bench.all.unreported().is_empty(), "reading reported it");
}

/// X02: memory use is constant, and the file has everything.
#[tokio::test]
async fn x02_a_flood_keeps_the_newest_output_and_a_private_file_has_the_rest() {
    let bench = Bench::new();
    bench.start("a", "seq 1 5000; sleep 300").unwrap();
    let command = bench.all.get("a").unwrap();
    let mut text = String::new();
    let mut omitted = 0;
    while !text.ends_with("\n5000\n") {
        let output = command.read(LONG).await;
        omitted += output.omitted;
        assert!(output.text.len() <= 1_000);
        text.push_str(&output.text);
        let whole = std::fs::read_to_string(output.file.unwrap()).unwrap();
        assert!(whole.starts_with("1\n2\n3\n"));
        assert!(whole.contains(output.text.trim_end()));
    }
    let all: usize = (1..=5000).map(|n: u32| n.to_string().len() + 1).sum();
    assert_eq!(omitted as usize + text.len(), all);
    bench.all.close().await;
}

#[tokio::test]
async fn characters_are_never_split() {
    let bench = Bench::new();
    bench
        .start(
            "a",
            "i=0; while [ $i -lt 700 ]; do printf 'ä€'; i=$((i+1)); done",
        )
        .unwrap();
    let command = bench.all.get("a").unwrap();
    while bench.all.unreported().is_empty() {
        tokio::task::yield_now().await;
    }
    let output = command.read(LONG).await;
    assert!(!output.text.contains('\u{fffd}') && output.omitted > 0);
    assert_eq!(output.omitted as usize + output.text.len(), 700 * 5);
}

/// INV-11: with everything that it started.
#[tokio::test]
async fn inv11_a_stopped_command_is_dead() {
    let bench = Bench::new();
    let pids = bench.sleeper("a").await;
    let other = bench.sleeper("b").await;
    let output = bench.all.get("a").unwrap().stop().await;
    assert_eq!(output.ended.unwrap().end, End::Cancelled);
    assert_eq!(pids.iter().filter(|pid| alive(pid)).count(), 0);
    assert_eq!(other.iter().filter(|pid| alive(pid)).count(), 2);
    assert!(bench.all.unreported().is_empty(), "who stops it knows it");
    bench.all.close().await;
    assert_eq!(other.iter().filter(|pid| alive(pid)).count(), 0);
    assert!(matches!(bench.start("c", "true"), Err(Refused::Full)));
}

/// INV-11: cancelling stops what the turn started, and the model learns of it.
#[tokio::test]
async fn inv11_a_cancelled_turn_stops_its_commands() {
    let mut bench = Bench::new();
    let kept = bench.sleeper("before").await;
    bench.turn = CancellationToken::new();
    let pids = bench.sleeper("a").await;
    bench.turn.cancel();
    let command = bench.all.get("a").unwrap();
    command.wait_until_ended().await;
    assert_eq!(pids.iter().filter(|pid| alive(pid)).count(), 0);
    assert_eq!(kept.iter().filter(|pid| alive(pid)).count(), 2);
    let untold = bench.all.unreported();
    let (end, left) = (End::Cancelled, 1);
    assert_eq!(untold[0].1, Ended { end, left });
    command.mark_reported();
    assert!(bench.all.unreported().is_empty());
    bench.all.close().await;
}

/// Even if the session is dropped without being closed.
#[tokio::test]
async fn inv11_dropping_the_session_ends_its_commands() {
    let bench = Bench::new();
    bench.sleeper("a").await;
    let command = bench.all.get("a").unwrap();
    drop(bench);
    command.wait_until_ended().await;
    assert!(!command.running());
}

#[tokio::test]
async fn processes_that_a_command_left_are_stopped_and_counted() {
    let bench = Bench::new();
    bench.start("a", "sleep 300 & echo $!").unwrap();
    let command = bench.all.get("a").unwrap();
    command.wait_until_ended().await;
    let output = command.read(LONG).await;
    assert!(!alive(&output.text), "{}", output.text);
    let ended = output.ended.unwrap();
    assert_eq!((ended.end, ended.left), (End::Exited(0), 1));
}

#[tokio::test]
async fn a_time_limit_applies_in_the_background_too() {
    let bench = Bench::new();
    let mut spec = spec("sleep 300", bench.folder.path());
    spec.timeout = Duration::from_millis(100);
    bench.all.start("a", &spec, bench.turn.clone()).unwrap();
    let output = bench.all.get("a").unwrap().read(LONG).await;
    assert_eq!(output.ended.unwrap().end, End::TimedOut);
}

#[tokio::test]
async fn too_many_are_refused_and_ended_ones_are_not_counted() {
    let bench = Bench::new();
    for n in 0..40 {
        let item = format!("ended {n}");
        bench.start(&item, "true").unwrap();
        bench.all.get(&item).unwrap().wait_until_ended().await;
    }
    assert!(bench.all.get("ended 0").is_none() && bench.all.get("ended 39").is_some());
    for n in 0..MOST {
        bench.start(&n.to_string(), "sleep 300").unwrap();
    }
    assert!(matches!(bench.start("more", "true"), Err(Refused::Full)));
    assert_eq!(bench.all.running().len(), MOST);
    bench.all.get("3").unwrap().stop().await;
    bench.start("more", "true").unwrap();
    bench.all.close().await;
}

#[tokio::test]
async fn a_missing_folder_is_an_immediate_error() {
    let bench = Bench::new();
    let mut spec = spec("true", bench.folder.path());
    let gone = bench.folder.path().join("gone");
    std::fs::create_dir(&gone).unwrap();
    spec.cwd = crate::process::Folder::at(&gone).unwrap();
    std::fs::remove_dir(&gone).unwrap();
    let refused = bench.all.start("a", &spec, bench.turn.clone());
    assert!(matches!(refused, Err(Refused::Io(_))));
    assert!(bench.all.get("a").is_none());
}
