//! Modules next to each other never import each other in a circle, at any depth: in each folder
//! of `src/`, the arrows between its files (with what lies below them) have a direction.

use std::collections::{BTreeMap, BTreeSet};

use crate::{File, report, sources};

/// `src/edit/apply/open.rs` → `["edit", "apply", "open"]`.
fn module(name: &str) -> Vec<&str> {
    let inner = name.trim_start_matches("src/").trim_end_matches(".rs");
    inner.split('/').collect()
}

/// The code without comments, so that docs may link anywhere.
fn code(file: &File) -> String {
    let lines = file.code().lines();
    let cut = lines.map(|line| line.split("//").next().unwrap_or_default());
    cut.flat_map(|line| [line, "\n"]).collect()
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// The paths that begin at `text`, groups resolved: `a::{b, c::D}` → `a b`, `a c D`. Returns the
/// rest of the text, too.
fn paths<'a>(text: &'a str, base: &[&'a str], found: &mut Vec<Vec<&'a str>>) -> &'a str {
    let mut path = base.to_vec();
    let mut rest = text.trim_start();
    loop {
        if let Some(group) = rest.strip_prefix('{') {
            rest = group.trim_start();
            while !rest.is_empty() && !rest.starts_with('}') {
                let after = paths(rest, &path, found).trim_start();
                let next = after.strip_prefix(',').unwrap_or(after).trim_start();
                if next.len() == rest.len() {
                    return next;
                }
                rest = next;
            }
            return rest.strip_prefix('}').unwrap_or(rest);
        }
        let name = word(rest);
        path.push(name);
        rest = &rest[name.len()..];
        match rest.strip_prefix("::") {
            Some(next) if !name.is_empty() => rest = next,
            _ => break,
        }
    }
    found.push(path);
    rest
}

/// What a file names, as paths from the crate's root.
fn named(file: &File) -> Vec<Vec<String>> {
    let code = code(file);
    let own = module(&file.name);
    let mut found = Vec::new();
    for (prefix, depth) in [("crate::", None), ("super::", Some(1)), ("self::", Some(0))] {
        for (at, _) in code.match_indices(prefix) {
            let before = code[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                continue;
            }
            let (mut rest, mut up) = (&code[at + prefix.len()..], depth);
            while let (Some(n), Some(next)) = (up, rest.strip_prefix("super::")) {
                (rest, up) = (next, Some(n + 1));
            }
            let base = match up {
                None => Vec::new(),
                Some(up) => own[..own.len().saturating_sub(up)].to_vec(),
            };
            let mut list = Vec::new();
            paths(rest, &base, &mut list);
            found.extend(
                list.iter()
                    .map(|path| path.iter().map(|&it| it.to_owned()).collect()),
            );
        }
    }
    found
}

type Arrows = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Folder → child → the children next to it that it imports.
fn arrows(files: &[File]) -> Arrows {
    let mut known = BTreeSet::new();
    for file in files {
        let path = module(&file.name);
        for end in 1..=path.len() {
            known.insert(path[..end].join("/"));
        }
    }
    let mut found = Arrows::new();
    for file in files {
        let own = module(&file.name);
        for path in named(file) {
            let common = own.iter().zip(&path).take_while(|(a, b)| a == b).count();
            let (Some(from), Some(to)) = (own.get(common), path.get(common)) else {
                continue;
            };
            let folder = own[..common].join("/");
            if common == 0 || !known.contains(&format!("{folder}/{to}")) {
                continue;
            }
            let children = found.entry(folder).or_default();
            children
                .entry((*from).to_owned())
                .or_default()
                .insert(to.clone());
        }
    }
    found
}

/// The children of a folder from which arrows lead back to themselves.
fn circle(children: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let reach = |start: &String| {
        let mut seen = BTreeSet::new();
        let mut waiting: Vec<&String> = children.get(start).into_iter().flatten().collect();
        while let Some(next) = waiting.pop() {
            if seen.insert(next) {
                waiting.extend(children.get(next).into_iter().flatten());
            }
        }
        seen.contains(start)
    };
    children
        .keys()
        .filter(|child| reach(child))
        .cloned()
        .collect()
}

#[test]
fn files_of_one_folder_have_no_import_circle() {
    let mut all = sources();
    all.retain(|file| !file.is_test());
    let mut findings = Vec::new();
    for (folder, children) in arrows(&all) {
        let circle = circle(&children);
        if !circle.is_empty() {
            findings.push(format!("{folder}: {}", circle.join(", ")));
        }
    }
    report("import circles", findings);
}

#[test]
fn circles_are_found_through_groups_and_folders() {
    let file = |name: &str, text: &str| File {
        name: name.to_owned(),
        text: text.to_owned(),
        bytes: 0,
    };
    let files = [
        file("src/m/a.rs", "use super::{b::{X, y::Z}, c};\n// super::d"),
        file("src/m/b/inner.rs", "use super::super::c::T;"),
        file("src/m/b.rs", "use crate::m::d::go;"),
        file("src/m/c.rs", "use super::b::inner;"),
        file("src/m/d.rs", "use std::fmt;"),
    ];
    let found = arrows(&files);
    assert_eq!(circle(&found["m"]), ["b", "c"]);
}
