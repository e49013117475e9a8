use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Background, End, Ended, MOST, Refused, Spec};

/// Longer than any command here takes.
const LONG: Duration = Duration::from_secs(60);

fn spec(command: &str, folder: &Path) -> Spec {
    Spec {
        command: command.to_owned(),
        cwd: crate::process::Folder::at(folder).unwrap(),
        env: BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())]),
        timeout: Duration::MAX,
        keep: 1_000,
        spill: folder.join("spill"),
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

    /// Starts a shell that sleeps on below another process; the ids of both.
    async fn sleeper(&self, item: &str) -> Vec<String> {
        self.start(item, "sleep 300 & echo $$ $!; wait").unwrap();
        let output = self.all.get(item).unwrap().read(LONG).await;
        output.text.split_whitespace().map(str::to_owned).collect()
    }
}

#[tokio::test]
async fn each_read_gives_what_is_new_and_the_last_one_the_end() {
    let bench = Bench::new();
    let command = "mkfifo go; echo one; cat go >/dev/null; echo two; exit 3";
    bench.start("a", command).unwrap();
    let command = bench.all.get("a").unwrap();
    let first = command.read(LONG).await;
    assert_eq!((first.text.as_str(), &first.ended), ("one\n", &None));
    assert_eq!(command.read(Duration::ZERO).await.text, "");
    assert!(bench.all.untold().is_empty());
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
    assert!(bench.all.untold().is_empty(), "it was told by reading");
}

/// X02: memory stays flat, and all of it is in the file.
#[tokio::test]
async fn x02_a_flood_keeps_the_newest_and_the_rest_in_a_private_file() {
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
async fn a_character_is_never_cut() {
    let bench = Bench::new();
    bench
        .start(
            "a",
            "i=0; while [ $i -lt 700 ]; do printf 'ä€'; i=$((i+1)); done",
        )
        .unwrap();
    let command = bench.all.get("a").unwrap();
    while bench.all.untold().is_empty() {
        tokio::task::yield_now().await;
    }
    let output = command.read(LONG).await;
    assert!(!output.text.contains('\u{fffd}') && output.omitted > 0);
    assert_eq!(output.omitted as usize + output.text.len(), 700 * 5);
}

/// INV-11: with all that it started.
#[tokio::test]
async fn inv11_what_is_stopped_is_dead() {
    let bench = Bench::new();
    let pids = bench.sleeper("a").await;
    let other = bench.sleeper("b").await;
    let output = bench.all.get("a").unwrap().stop().await;
    assert_eq!(output.ended.unwrap().end, End::Cancelled);
    assert_eq!(pids.iter().filter(|pid| alive(pid)).count(), 0);
    assert_eq!(other.iter().filter(|pid| alive(pid)).count(), 2);
    assert!(bench.all.untold().is_empty(), "who stops it knows it");
    bench.all.close().await;
    assert_eq!(other.iter().filter(|pid| alive(pid)).count(), 0);
    assert!(matches!(bench.start("c", "true"), Err(Refused::Full)));
}

/// INV-11: cancel stops what the turn started, and the model hears of it.
#[tokio::test]
async fn inv11_a_cancelled_turn_takes_its_commands_along() {
    let mut bench = Bench::new();
    let kept = bench.sleeper("before").await;
    bench.turn = CancellationToken::new();
    let pids = bench.sleeper("a").await;
    bench.turn.cancel();
    let command = bench.all.get("a").unwrap();
    command.end().await;
    assert_eq!(pids.iter().filter(|pid| alive(pid)).count(), 0);
    assert_eq!(kept.iter().filter(|pid| alive(pid)).count(), 2);
    let untold = bench.all.untold();
    let (end, left) = (End::Cancelled, 1);
    assert_eq!(untold[0].1, Ended { end, left });
    command.tell();
    assert!(bench.all.untold().is_empty());
    bench.all.close().await;
}

/// The session is gone without a word: its commands go too.
#[tokio::test]
async fn inv11_dropping_the_session_ends_its_commands() {
    let bench = Bench::new();
    bench.sleeper("a").await;
    let command = bench.all.get("a").unwrap();
    drop(bench);
    command.end().await;
    assert!(!command.running());
}

#[tokio::test]
async fn what_a_command_leaves_running_is_stopped_and_counted() {
    let bench = Bench::new();
    bench.start("a", "sleep 300 & echo $!").unwrap();
    let command = bench.all.get("a").unwrap();
    command.end().await;
    let output = command.read(LONG).await;
    assert!(!alive(&output.text), "{}", output.text);
    let ended = output.ended.unwrap();
    assert_eq!((ended.end, ended.left), (End::Exited(0), 1));
}

#[tokio::test]
async fn a_time_limit_holds_in_the_background_too() {
    let bench = Bench::new();
    let mut spec = spec("sleep 300", bench.folder.path());
    spec.timeout = Duration::from_millis(100);
    bench.all.start("a", &spec, bench.turn.clone()).unwrap();
    let output = bench.all.get("a").unwrap().read(LONG).await;
    assert_eq!(output.ended.unwrap().end, End::TimedOut);
}

#[tokio::test]
async fn too_many_are_refused_and_those_that_ended_do_not_count() {
    let bench = Bench::new();
    for n in 0..40 {
        let item = format!("ended {n}");
        bench.start(&item, "true").unwrap();
        bench.all.get(&item).unwrap().end().await;
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
async fn a_folder_that_is_missing_is_an_error_at_once() {
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
