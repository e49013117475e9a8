//! The comment syntax of languages, by the names that editors give them and by file suffixes. Data. An
//! unknown language gets the syntax that most languages share.

/// Markers of one family of languages.
#[derive(Debug)]
pub struct Syntax {
    /// Separated by blanks.
    names: &'static str,
    pub line: &'static [&'static str],
    pub block: &'static [(&'static str, &'static str)],
    /// The language is unknown: a marker counts only before a blank.
    pub guess: bool,
}

const fn family(
    names: &'static str,
    line: &'static [&'static str],
    block: &'static [(&'static str, &'static str)],
) -> Syntax {
    Syntax {
        names,
        line,
        block,
        guess: false,
    }
}

const STAR: (&str, &str) = ("/*", "*/");
const ANGLE: (&str, &str) = ("<!--", "-->");
const PAREN: (&str, &str) = ("(*", "*)");

static FAMILIES: &[Syntax] = &[
    family(
        "c h cpp c++ cc cxx hpp cuda cu objective-c objc m mm csharp cs java kotlin kt kts \
         scala swift go rust rs javascript javascriptreact js jsx mjs cjs typescript \
         typescriptreact ts tsx dart zig d groovy gradle proto glsl hlsl wgsl json jsonc \
         json5 less scss verilog systemverilog v sv solidity sol odin typst typ",
        &["//"],
        &[STAR],
    ),
    family("php", &["//", "#"], &[STAR, ANGLE]),
    family("hcl terraform tf nix jsonnet", &["//", "#"], &[STAR]),
    family(
        "python py pyi shellscript sh bash zsh fish ruby rb perl pl pm r yaml yml toml \
         makefile make mk dockerfile cmake elixir ex exs nim tcl awk conf cfg crystal cr \
         gdscript gd starlark bzl gitcommit git-commit gitignore ignore graphql properties \
         coffeescript coffee kak just justfile meson desktop env",
        &["#"],
        &[],
    ),
    family("julia jl", &["#"], &[("#=", "=#")]),
    family("powershell ps1 psm1", &["#"], &[("<#", "#>")]),
    family("lua luau", &["--"], &[("--[[", "]]")]),
    family("sql mysql plsql pgsql", &["--"], &[STAR]),
    family(
        "haskell hs elm purescript purs agda idris",
        &["--"],
        &[("{-", "-}")],
    ),
    family("ada adb ads vhdl vhd", &["--"], &[]),
    family(
        "lisp commonlisp cl elisp emacs-lisp el clojure clj cljs edn scheme scm racket rkt \
         fennel fnl",
        &[";"],
        &[("#|", "|#")],
    ),
    family("asm nasm s", &[";", "#", "//"], &[STAR]),
    family("ini dosini editorconfig", &[";", "#"], &[]),
    family(
        "latex tex plaintex bibtex bib erlang erl matlab octave",
        &["%"],
        &[],
    ),
    family("prolog", &["%"], &[STAR]),
    family("vim vimscript", &["\""], &[]),
    family("vb vbnet vbs basic", &["'", "rem "], &[]),
    family("bat batch dosbatch cmd", &["rem ", "::"], &[]),
    family("fortran f90 f95 f03 f08 fortran-modern", &["!"], &[]),
    family(
        "html htm xml svg xhtml markdown md rst plist xsl",
        &[],
        &[ANGLE],
    ),
    family("vue svelte astro", &["//"], &[STAR, ANGLE]),
    family("css", &[], &[STAR]),
    family("ocaml ml mli coq sml", &[], &[PAREN]),
    family("fsharp fs fsx", &["//"], &[PAREN]),
    family("pascal pas delphi", &["//"], &[PAREN, ("{", "}")]),
    family(
        "jinja jinja2 twig django-html htmldjango j2",
        &[],
        &[("{#", "#}"), ANGLE],
    ),
    family("handlebars hbs mustache", &[], &[("{{!--", "--}}"), ANGLE]),
    family("erb eruby", &[], &[("<%#", "%>"), ANGLE]),
];

static UNKNOWN: Syntax = Syntax {
    names: "",
    line: &["//", "#", "--", ";", "%"],
    block: &[STAR, ANGLE],
    guess: true,
};

/// The editor's name for the language decides, then the suffix.
pub fn syntax(language: &str, suffix: &str) -> &'static Syntax {
    let plain = |name: &str| {
        let name = name.to_ascii_lowercase();
        let name = name.strip_suffix("-mode").unwrap_or(&name).to_owned();
        name.strip_suffix("-ts").unwrap_or(&name).to_owned()
    };
    let (language, suffix) = (plain(language), plain(suffix));
    let of = |name: &str| {
        let mut families = FAMILIES.iter();
        families.find(|family| family.names.split(' ').any(|known| known == name))
    };
    of(&language).or_else(|| of(&suffix)).unwrap_or(&UNKNOWN)
}
