//! What hides is hidden everywhere: the plugins' tables are the server's, and only the terminal's
//! door prints.

use interline::visible::{HIDDEN, PROSE};

use crate::{files, report, sources};

/// R14: the numbers of a plugin's table, in order.
fn numbers(text: &str) -> Vec<u32> {
    let hex = |part: &str| {
        let end = part.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(0);
        u32::from_str_radix(&part[..end], 16).ok()
    };
    let parts = text.split(['x', '{']).skip(1);
    parts.filter_map(hex).collect()
}

/// R14.
#[test]
fn both_plugins_hide_what_the_server_hides() {
    let ours: Vec<u32> = HIDDEN
        .iter()
        .chain(&PROSE)
        .flat_map(|(first, last)| [*first, *last])
        .collect();
    let tables = [
        "editors/nvim/lua/interline/hidden.lua",
        "editors/vscode/media/hidden.json",
    ];
    let all = files();
    let differs = |name: &&&str| {
        let file = all.iter().find(|file| file.name == **name);
        file.is_none_or(|file| numbers(&file.text) != ours)
    };
    let wrong = tables.iter().filter(differs);
    let wrong = wrong.map(|name| format!("{name} is not the table of src/visible.rs"));
    report("tables of hidden characters", wrong.collect());
}

/// R05, R13: one writer for people, which escapes; standard output is else the protocol's.
#[test]
fn only_the_doors_of_terminal_and_protocol_print() {
    const WRITERS: [&str; 2] = ["src/terminal.rs", "src/rpc.rs"];
    const WORDS: [&str; 8] = [
        "print!(",
        "println!(",
        "eprint!(",
        "eprintln!(",
        "dbg!(",
        "io::stdout(",
        "io::stderr",
        "io::Stdout",
    ];
    let mut wrong = Vec::new();
    for file in sources() {
        if file.is_test() || WRITERS.contains(&file.name.as_str()) {
            continue;
        }
        let code = file.code();
        let printing = WORDS.iter().filter(|word| code.contains(**word));
        wrong.extend(printing.map(|word| format!("{} says {word}", file.name)));
    }
    report("who prints", wrong);
}
