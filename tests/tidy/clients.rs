//! `docs/clients.md` says for every method, event, command and setting what each client does with
//! it. The rows come from protocol.md, uses from the clients' sources, stories and excuses from
//! `docs/clients.toml`. After a change: `UPDATE_CLIENTS=1 cargo test --test tidy`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Deserialize;

use crate::{File, files, report, root};

const DATA: &str = "docs/clients.toml";
const PAGE: &str = "docs/clients.md";
const UPDATE: &str = "UPDATE_CLIENTS";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    #[serde(rename = "client")]
    clients: Vec<Client>,
    #[serde(rename = "story")]
    stories: Vec<Story>,
    #[serde(rename = "excuse")]
    excuses: Vec<Excuse>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Client {
    id: String,
    name: String,
    /// How a story of this client is declared; `{}` is its name.
    story: String,
    /// Files or folders with its stories.
    stories: Vec<String>,
    uses: Vec<Use>,
    /// Other names that this client has for a row, searched instead.
    #[serde(default)]
    other: BTreeMap<String, Vec<String>>,
}

/// Where and how uses of one kind of row are found.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Use {
    kind: Kind,
    /// Files or folders.
    code: Vec<String>,
    #[serde(default)]
    except: Vec<String>,
    /// In each file only the text from the first of these to the second that follows.
    between: Option<(String, String)>,
    /// `{}` is the name, `{Name}` the name with a capital; without either it finds every row.
    find: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Story {
    client: String,
    name: String,
    shows: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Excuse {
    clients: Vec<String>,
    /// Names, or kinds for the rest of that kind.
    names: Vec<String>,
    why: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kind {
    Method,
    Event,
    Command,
    Setting,
}

impl Kind {
    const ALL: [(Self, &str, &str); 4] = [
        (Self::Method, "method", "Methods"),
        (Self::Event, "event", "Events of `interline/turn/event`"),
        (Self::Command, "command", "Commands"),
        (Self::Setting, "setting", "Settings"),
    ];

    fn word(self) -> &'static str {
        let found = Self::ALL.iter().find(|(kind, _, _)| *kind == self);
        found.map_or("", |(_, word, _)| word)
    }
}

/// The first column of the table whose head begins with `head`, with every name in it.
fn column(page: &str, head: &str) -> Vec<String> {
    let lines = page.lines().skip_while(|line| !line.starts_with(head));
    let rows = lines.skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let names = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    names.map(str::to_owned).collect()
}

/// Every row of the page, from protocol.md.
fn rows(page: &str) -> Vec<(Kind, String)> {
    let heads = page.lines().filter_map(|line| line.strip_prefix("### "));
    let methods = heads.filter(|name| name.starts_with("interline/"));
    let methods = methods.map(str::to_owned).collect();
    let all = [
        (Kind::Method, methods),
        (Kind::Event, column(page, "| type | fields |")),
        (Kind::Command, column(page, "| command | argument |")),
        (Kind::Setting, column(page, "| key | value |")),
    ];
    let named = |(kind, names): (Kind, Vec<String>)| names.into_iter().map(move |it| (kind, it));
    all.into_iter().flat_map(named).collect()
}

/// Methods that the schema marks.
fn unbuilt(schema: &str) -> Vec<String> {
    let schema: serde_json::Value = serde_json::from_str(schema).expect("the schema");
    let methods = schema["methods"].as_object().into_iter().flatten();
    let methods = methods.filter(|(_, method)| method["built"] == false);
    methods.map(|(name, _)| name.clone()).collect()
}

/// `text` names it, and it is not a part of a longer name.
fn names(text: &str, what: &str) -> bool {
    let word = |c: char| c.is_alphanumeric();
    text.match_indices(what).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + what.len()..].chars().next();
        let open = what.starts_with(word) && before.is_some_and(word);
        !(open || what.ends_with(word) && after.is_some_and(word))
    })
}

impl Use {
    /// What is searched for one row.
    fn patterns(&self, name: &str) -> Vec<String> {
        // `providers.*.api` is set inside of `providers`.
        let plain = name.split(".*").next().unwrap_or(name);
        let plain = plain.strip_prefix("interline.").unwrap_or(plain);
        let mut capital = plain[..1].to_uppercase();
        capital.push_str(&plain[1..]);
        let fill = |it: &String| it.replace("{Name}", &capital).replace("{}", plain);
        self.find.iter().map(fill).collect()
    }

    fn texts<'a>(&self, files: &'a [File]) -> Vec<&'a str> {
        let within = |file: &&File| {
            let is = |place: &String| file.name.starts_with(place.as_str());
            self.code.iter().any(is) && !self.except.iter().any(is) && !file.is_test()
                || self.code.contains(&file.name)
        };
        let cut = |file: &'a File| {
            let Some((from, to)) = &self.between else {
                return Some(file.code());
            };
            let (_, rest) = file.text.split_once(from)?;
            rest.split_once(to).map(|(text, _)| text)
        };
        files.iter().filter(within).filter_map(cut).collect()
    }
}

impl Client {
    /// Which rows its sources use.
    fn used(&self, files: &[File], rows: &[(Kind, String)]) -> BTreeSet<String> {
        let mut used = BTreeSet::new();
        for search in &self.uses {
            let texts = search.texts(files);
            for (_, name) in rows.iter().filter(|(kind, _)| *kind == search.kind) {
                let own = vec![name.clone()];
                let names_of = self.other.get(name).unwrap_or(&own);
                let mut patterns = names_of.iter().flat_map(|name| search.patterns(name));
                if patterns.any(|wanted| texts.iter().any(|text| names(text, &wanted))) {
                    used.insert(name.clone());
                }
            }
        }
        used
    }

    fn has_story(&self, files: &[File], name: &str) -> bool {
        let wanted = self.story.replace("{}", name);
        let inside = |file: &&File| self.stories.iter().any(|it| file.name.starts_with(it));
        let mut stories = files.iter().filter(inside);
        stories.any(|file| file.text.contains(&wanted))
    }
}

struct Clients {
    data: Data,
    rows: Vec<(Kind, String)>,
    /// Names that have no effect yet.
    unbuilt: Vec<String>,
    /// Names by client.
    used: BTreeMap<String, BTreeSet<String>>,
    files: Vec<File>,
}

impl Clients {
    fn read() -> Self {
        let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap_or_default();
        let data: Data =
            toml::from_str(&read(DATA)).unwrap_or_else(|error| panic!("{DATA}: {error}"));
        let (rows, files) = (rows(&read("protocol.md")), files());
        let unbuilt = unbuilt(&read("src/lsp/schema.json"));
        let mut used = BTreeMap::new();
        for client in &data.clients {
            used.insert(client.id.clone(), client.used(&files, &rows));
        }
        Self {
            data,
            rows,
            unbuilt,
            used,
            files,
        }
    }

    fn uses(&self, client: &Client, name: &str) -> bool {
        self.used[&client.id].contains(name)
    }

    fn story(&self, client: &Client, name: &str) -> Option<&str> {
        let mut stories = self.data.stories.iter();
        let shows = |it: &&Story| it.client == client.id && it.shows.iter().any(|it| it == name);
        stories.find(shows).map(|it| it.name.as_str())
    }

    /// Its own excuse, or that of its kind.
    fn excuse(&self, client: &Client, kind: Kind, name: &str) -> Option<&str> {
        let named = |wanted: &str| {
            let mut excuses = self.data.excuses.iter();
            let fits = |it: &&Excuse| {
                it.clients.contains(&client.id) && it.names.iter().any(|it| it == wanted)
            };
            excuses.find(fits).map(|it| it.why.as_str())
        };
        named(name).or_else(|| named(kind.word()))
    }

    fn cell(&self, client: &Client, kind: Kind, name: &str) -> Option<String> {
        if self.unbuilt.iter().any(|it| it == name) {
            return Some("not built yet".to_owned());
        }
        let story = self.story(client, name);
        let shown = story.map_or(String::new(), |story| format!(": *{story}*"));
        if self.uses(client, name) {
            return Some(format!("used{shown}"));
        }
        let why = self.excuse(client, kind, name)?;
        Some(format!("{why}{shown}"))
    }

    fn page(&self) -> String {
        let mut page = format!(
            "# What each client uses\n\n\
             Generated from [protocol.md](../protocol.md), the clients' sources and `{DATA}`. Do \
             not edit; run `{UPDATE}=1 cargo test --test tidy` to regenerate it.\n\n\
             *used*: the client's code names it; a story that shows it in the real program \
             follows, if there is one. Otherwise the cell says what there is instead, or why \
             not. *Plain LSP* are Helix, Emacs, Kakoune and Neovim without the plugin. ACP \
             has its own methods; a cell says *used* if `src/acp/` handles the corresponding one.\n"
        );
        for (kind, word, title) in Kind::ALL {
            let _ = write!(page, "\n## {title}\n\n| {word} |");
            for client in &self.data.clients {
                let _ = write!(page, " {} |", client.name);
            }
            page.push_str("\n|---|");
            page.push_str(&"---|".repeat(self.data.clients.len()));
            page.push('\n');
            for (_, name) in self.rows.iter().filter(|(of, _)| *of == kind) {
                let _ = write!(page, "| `{name}` |");
                for client in &self.data.clients {
                    let cell = self.cell(client, kind, name).unwrap_or_default();
                    let _ = write!(page, " {cell} |");
                }
                page.push('\n');
            }
        }
        page
    }

    fn client(&self, id: &str) -> Option<&Client> {
        self.data.clients.iter().find(|client| client.id == id)
    }

    /// What is wrong with the names of stories and excuses.
    fn unknown(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let known = |name: &String| self.rows.iter().any(|(_, row)| row == name);
        let kind = |name: &String| Kind::ALL.iter().any(|(_, word, _)| word == name);
        for story in &self.data.stories {
            match self.client(&story.client) {
                None => wrong.push(format!("unknown client {}", story.client)),
                Some(client) if !client.has_story(&self.files, &story.name) => {
                    wrong.push(format!("{} has no story {:?}", client.name, story.name));
                }
                Some(_) => {}
            }
            let strange = story.shows.iter().filter(|name| !known(name));
            wrong.extend(strange.map(|name| format!("{}: unknown row {name}", story.name)));
        }
        for excuse in &self.data.excuses {
            let strange = excuse
                .names
                .iter()
                .filter(|name| !known(name) && !kind(name));
            wrong.extend(strange.map(|name| format!("an excuse for an unknown row: {name}")));
            let strange = excuse.clients.iter().filter(|id| self.client(id).is_none());
            wrong.extend(strange.map(|id| format!("an excuse for an unknown client: {id}")));
        }
        wrong
    }
}

#[test]
fn every_cell_of_the_page_of_clients_is_a_use_or_an_excuse() {
    let read = Clients::read();
    let mut findings = read.unknown();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for (kind, name) in &read.rows {
        *kinds.entry(kind.word()).or_default() += 1;
        for client in &read.data.clients {
            let used = read.uses(client, name);
            if !used && read.cell(client, *kind, name).is_none() {
                findings.push(format!(
                    "{} does not use the {} {name}, and {DATA} has no excuse",
                    client.name,
                    kind.word()
                ));
            }
            let own = |it: &&Excuse| it.clients.contains(&client.id) && it.names.contains(name);
            if used && read.data.excuses.iter().any(|it| own(&it)) {
                findings.push(format!(
                    "{} uses the {} {name}: remove its excuse from {DATA}",
                    client.name,
                    kind.word()
                ));
            }
        }
    }
    assert_eq!(kinds.len(), Kind::ALL.len(), "rows: {kinds:?}");
    report("clients", findings);
}

#[test]
fn the_page_of_clients_is_up_to_date() {
    let page = Clients::read().page();
    let path = root().join(PAGE);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &page).expect("the page is written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == page,
        "{PAGE} is outdated; regenerate it: {UPDATE}=1 cargo test --test tidy"
    );
}
