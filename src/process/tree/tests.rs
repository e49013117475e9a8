use super::{Own, Process, Starting, Tree, current_process, parse_stat, select};

fn process(pid: i32, parent: i32, session: i32) -> Process {
    Process {
        pid,
        parent,
        group: session,
        session,
        zombie: false,
        started: 100,
        marked: false,
    }
}

fn selected(table: &[Process], adopt: bool) -> Vec<i32> {
    let tree = Tree {
        main: 50,
        mark: "m".to_owned(),
        started: 90,
        since: None,
        done: true,
        running: Some(Starting { counted: false }),
    };
    let own = Own {
        pid: 10,
        session: 10,
    };
    let selected = select(table, &tree, own, |pid| adopt && pid != 91);
    selected.into_iter().collect()
}

#[test]
fn x01_members_are_found_by_parent_session_mark_and_adoption() {
    let mut marked = process(70, 10, 70);
    marked.marked = true;
    let mut old = process(80, 10, 80);
    old.started = 5;
    let table = [
        process(1, 0, 1),
        process(10, 1, 10),
        process(50, 10, 50),
        process(51, 50, 50),
        process(52, 51, 52),
        process(53, 52, 53),
        marked,
        process(71, 70, 71),
        old,
        process(81, 10, 10),
        process(90, 10, 90),
        process(91, 10, 91),
        process(95, 1, 95),
    ];
    assert_eq!(selected(&table, false), [50, 51, 52, 53, 70, 71]);
    assert_eq!(selected(&table, true), [50, 51, 52, 53, 70, 71, 90]);
}

#[test]
fn a_process_name_with_parentheses_and_spaces_parses() {
    let stat = "7 (a) b (c)) S 3 4 5 0 -1 1 2 3 4 5 6 7 8 9 20 0 1 0 4711 0 0";
    let process = parse_stat(7, stat).unwrap();
    assert_eq!(
        (
            process.parent,
            process.group,
            process.session,
            process.started
        ),
        (3, 4, 5, 4711)
    );
    assert!(!process.zombie);
}

/// In a container whose session leader runs outside, the kernel reports 0, not a valid `Pid`.
#[test]
fn a_session_led_from_outside_the_container_is_zero() {
    let pid = i32::try_from(std::process::id()).unwrap();
    let own = current_process(&[process(1, 0, 1), process(pid, 1, 0)]);
    assert_eq!((own.pid, own.session), (pid, 0));
}

/// What it started has higher numbers, unless so much was started since that they may have begun
/// again: then no process is left out.
#[cfg(target_os = "linux")]
#[test]
fn of_a_short_command_only_later_processes_are_read() {
    use std::time::Instant;

    let last = super::last_number();
    let below = |main: i32, since: Option<Instant>| {
        let tree = Tree {
            main,
            mark: "m".to_owned(),
            started: 0,
            since,
            done: true,
            running: None,
        };
        tree.below()
    };
    let now = Instant::now();
    assert_eq!(below(2, Some(now)), 1);
    assert_eq!(below(2, None), 0);
    assert_eq!(below(2, now.checked_sub(super::SHORT)), 0);
    assert!(last > 0);
    assert_eq!(below(i32::MAX, Some(now)), 0);
}
