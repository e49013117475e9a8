//! Which server serves which file, and the servers that people commonly have.

use std::path::{Path, PathBuf};

use crate::config::LanguageServer;
use crate::env::Env;

/// LSP language ids and the extensions of their files.
const LANGUAGES: [(&str, &[&str]); 32] = [
    ("bibtex", &["bib"]),
    ("c", &["c", "h"]),
    ("clojure", &["clj", "cljs", "cljc"]),
    ("cpp", &["cpp", "cc", "cxx", "hpp", "hh", "hxx"]),
    ("csharp", &["cs"]),
    ("css", &["css"]),
    ("dart", &["dart"]),
    ("elixir", &["ex", "exs"]),
    ("erlang", &["erl", "hrl"]),
    ("go", &["go"]),
    ("haskell", &["hs"]),
    ("html", &["html", "htm"]),
    ("java", &["java"]),
    ("javascript", &["js", "mjs", "cjs"]),
    ("javascriptreact", &["jsx"]),
    ("json", &["json"]),
    ("kotlin", &["kt", "kts"]),
    ("latex", &["tex"]),
    ("lua", &["lua"]),
    ("markdown", &["md"]),
    ("nix", &["nix"]),
    ("ocaml", &["ml", "mli"]),
    ("php", &["php"]),
    ("python", &["py", "pyi"]),
    ("ruby", &["rb"]),
    ("rust", &["rs"]),
    ("scala", &["scala", "sbt"]),
    ("shellscript", &["sh", "bash"]),
    ("swift", &["swift"]),
    ("typescript", &["ts", "mts", "cts"]),
    ("typescriptreact", &["tsx"]),
    ("zig", &["zig"]),
];

/// Programs that `interline doctor` looks for, and the entry of `languageServers` that would use
/// them.
pub const PROGRAMS: [(&str, &str, &[&str]); 13] = [
    ("c", "clangd", &["clangd"]),
    ("go", "gopls", &["gopls"]),
    (
        "haskell",
        "haskell-language-server-wrapper",
        &["haskell-language-server-wrapper", "--lsp"],
    ),
    ("java", "jdtls", &["jdtls"]),
    ("lua", "lua-language-server", &["lua-language-server"]),
    ("ocaml", "ocamllsp", &["ocamllsp"]),
    (
        "python",
        "pyright-langserver",
        &["pyright-langserver", "--stdio"],
    ),
    ("python", "pylsp", &["pylsp"]),
    ("ruby", "ruby-lsp", &["ruby-lsp"]),
    ("rust", "rust-analyzer", &["rust-analyzer"]),
    (
        "shellscript",
        "bash-language-server",
        &["bash-language-server", "start"],
    ),
    (
        "typescript",
        "typescript-language-server",
        &["typescript-language-server", "--stdio"],
    ),
    ("zig", "zls", &["zls"]),
];

/// The language id of a file; its extension if it is not in the table.
pub fn language(path: &Path) -> String {
    let extension = extension(path).unwrap_or_default();
    let mut all = LANGUAGES.iter();
    let found = all.find(|(_, extensions)| extensions.contains(&extension.as_str()));
    found.map_or(extension, |(id, _)| (*id).to_owned())
}

fn extension(path: &Path) -> Option<String> {
    let extension = path.extension()?.to_str()?;
    Some(extension.to_ascii_lowercase())
}

/// Whether the server `name` is for this file. `language`: the editor's id, if the file is open.
pub fn serves(name: &str, server: &LanguageServer, path: &Path, language: Option<&str>) -> bool {
    let own = extension(path);
    let by_extension = own.is_some_and(|own| {
        let mut all = server.extensions.iter();
        all.any(|it| it.trim_start_matches('.').eq_ignore_ascii_case(&own))
    });
    if by_extension || !server.extensions.is_empty() && server.languages.is_empty() {
        return by_extension;
    }
    let id = match language.filter(|id| !id.is_empty()) {
        Some(id) => id.to_owned(),
        None => self::language(path),
    };
    match server.languages.is_empty() {
        // `c` and `typescript` stand for their families.
        true => name == id || family(&id) == Some(name),
        false => server.languages.contains(&id),
    }
}

/// The language whose server also serves this one.
fn family(id: &str) -> Option<&'static str> {
    match id {
        "cpp" => Some("c"),
        "javascript" | "javascriptreact" | "typescriptreact" => Some("typescript"),
        _ => None,
    }
}

/// The program of a server, if it is there.
pub fn program(env: &Env, server: &LanguageServer) -> Option<PathBuf> {
    on_path(env, server.command.first()?)
}

/// An executable file on PATH, or at an absolute path. Relative paths are not searched.
pub fn on_path(env: &Env, program: &str) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt as _;
    let runs = |path: &PathBuf| {
        let data = std::fs::metadata(path);
        data.is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|path| path.is_absolute() && runs(path));
    }
    let folders = std::env::split_paths(env.vars().get("PATH")?).collect::<Vec<_>>();
    let mut paths = folders
        .iter()
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program));
    paths.find(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_serves_its_language_its_family_or_what_it_is_configured_for() {
        let plain = LanguageServer::default();
        let rust = |path: &str| serves("rust", &plain, Path::new(path), None);
        assert!(rust("/a/b.rs") && !rust("/a/b.ts") && !rust("/a/Makefile"));
        assert!(serves("typescript", &plain, Path::new("/a.jsx"), None));
        assert!(serves(
            "anything",
            &plain,
            Path::new("/a.x"),
            Some("anything")
        ));
        let listed = LanguageServer {
            extensions: vec![".foo".to_owned()],
            ..LanguageServer::default()
        };
        assert!(serves("x", &listed, Path::new("/a.FOO"), None));
        assert!(!serves("rust", &listed, Path::new("/a.rs"), None));
    }
}
