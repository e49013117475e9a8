use super::*;
use crate::process::confine::Hidden;

fn plan() -> Plan {
    Plan {
        writable: vec!["/w".into()],
        pinned: vec!["/w/.git".into()],
        read_only: vec!["/w/.git/config".into(), "/w/Makefile".into()],
        hidden: vec![Hidden {
            path: "/home/u/.state".into(),
            except: vec!["/home/u/.state/skills".into()],
        }],
        temporary: "/tmp/own".into(),
        ..Plan::default()
    }
}

/// Rules are read in order and the last one that matches applies: protected places follow the
/// folders that they are in, and exceptions follow what they are taken from.
#[test]
fn a_profile_denies_writes_protected_places_secrets_and_the_network() {
    let absent = [Absent::Folder("/w/.vscode".into())];
    let text = profile(&plan(), &absent).unwrap();
    insta::assert_snapshot!(text, @r#"
    (version 1)
    (allow default)
    (deny signal (target others))
    (deny process-info* (target others))
    (deny appleevent-send)
    (deny lsopen)
    (deny file-write*)
    (allow file-write* (literal "/dev/dtracehelper") (literal "/dev/null") (literal "/dev/ptmx") (literal "/dev/tty") (literal "/dev/urandom") (literal "/dev/zero"))
    (allow file-write* (subpath "/w") (subpath "/tmp/own"))
    (deny file-write* (subpath "/w/.git/config") (subpath "/w/Makefile") (subpath "/w/.vscode"))
    (deny file-write-unlink (literal "/w/.git"))
    (deny file-read* file-write* (subpath "/home/u/.state"))
    (allow file-read* (subpath "/home/u/.state/skills"))
    (deny network*)
    (allow network-bind network-inbound (local ip "localhost:*"))
    (allow network-outbound (remote ip "localhost:*"))
    "#);
}

#[test]
fn the_network_is_open_only_if_the_plan_says_so_and_never_to_sockets_of_the_file_system() {
    let text = profile(
        &Plan {
            network: true,
            ..plan()
        },
        &[],
    )
    .unwrap();
    assert!(!text.contains("(deny network*)"));
    assert!(text.contains("(deny network-outbound (remote unix-socket))"));
}

/// A name that ends the string would add rules of its own.
#[test]
fn a_path_that_could_change_the_profile_starts_nothing() {
    for name in ["/w/\") (allow file-write*) (\"", "/w/a\\", "/w/a\nb", "w"] {
        let plan = Plan {
            writable: vec![name.into()],
            ..plan()
        };
        assert!(profile(&plan, &[]).is_err(), "{name:?}");
    }
}

#[test]
fn the_program_runs_with_its_own_temporary_folder() {
    let words = ["/bin/sh", "-c", "make"].map(str::to_owned);
    let arguments = arguments(&plan(), &[], &words).unwrap();
    assert_eq!(arguments[0], "-p");
    let rest = ["/usr/bin/env", "TMPDIR=/tmp/own", "/bin/sh", "-c", "make"];
    assert_eq!(arguments[2..], rest);
}
