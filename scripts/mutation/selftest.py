"""The script's self-test: it runs in a small separate package, where a build takes a
second."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .rust import Source, Unclear
from .sample import found_in

PACKAGE = {
    "Cargo.toml": """[package]
name = "planted"
version = "0.1.0"
edition = "2024"

[workspace]
members = ["tests/edit-driver"]
default-members = ["."]
""",
    "tests/edit-driver/Cargo.toml": """[package]
name = "planted-edit-driver"
version = "0.1.0"
edition = "2024"

[[test]]
name = "edit-driver"
path = "driver.rs"

[dev-dependencies]
planted = { path = "../.." }
""",
    "tests/edit-driver/driver.rs": """#[test]
fn twice_three_is_six() {
    assert_eq!(planted::edit::apply::twice(3), 6);
}
""",
    "tests/e2e/main.rs": """mod sums;
""",
    "tests/e2e/sums.rs": """#[test]
fn three_less_one_is_two() {
    assert_eq!(planted::sums::less(3), 2);
}
""",
    ".gitignore": "/target\n",
    "src/lib.rs": """pub mod edit;
pub mod sums;
""",
    "src/edit.rs": """pub mod apply;
""",
    "src/edit/apply.rs": """pub fn twice(a: u32) -> u32 {
    a + a
}
""",
    "src/sums.rs": """pub fn sum(a: u32, b: u32) -> u32 {
    a + b
}

pub fn unseen(a: u32) -> u32 {
    a * 2
}

pub fn less(a: u32) -> u32 {
    a - 1
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_and_three_are_five() {
        assert_eq!(super::sum(2, 3), 5);
    }
}
""",
    "tests/tidy/imports.rs": """const ROWS: &[&[&str]] = &[
    &["sums"],
    &["edit"],
];
""",
    "tests/mutations/planted.toml": """[[mutation]]
name = "seen"
ids = ["X-1"]
file = "src/sums.rs"
find = "a + b"
replace = "a - b"

[[mutation]]
name = "unseen"
ids = ["X-1"]
file = "src/sums.rs"
find = "a * 2"
replace = "a * 3"

[[mutation]]
name = "told"
ids = ["X-3"]
file = "src/sums.rs"
find = "a - 1"
replace = "a - 2"
story = "sums::three_less_one_is_two"

[[mutation]]
name = "untold"
ids = ["X-3"]
file = "src/sums.rs"
find = "a * 2"
replace = "a * 3"
story = "sums::three_less_one_is_two"

[[mutation]]
name = "member"
ids = ["X-2"]
file = "src/edit/apply.rs"
find = "a + a"
replace = "a * 3"
""",
    "tests/conformance/README.md": """| X-1 | | | `src/sums.rs::two_and_three_are_five` | |
| X-2 | | | `tests/edit-driver/driver.rs::twice_three_is_six` | |
| X-3 | | | `tests/e2e/sums.rs::three_less_one_is_two` | |
""",
}


class SelfTest:
    """This script in a small separate package."""

    def __init__(self, top, script):
        self.top = top
        self.path = found_in(script.parent.parent / "target" / "mutants")
        self.passed = self.failed = 0
        for name, text in PACKAGE.items():
            self.write(name, text)
        (top / "scripts").mkdir()
        shutil.copy(script, top / "scripts" / "mutants")
        shutil.copytree(script.parent / "mutation", top / "scripts" / "mutation")
        self.outcome("git", "init", "--quiet")

    def write(self, name, text):
        path = self.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def outcome(self, *command):
        """The exit code and the output."""
        env = {name: value for name, value in os.environ.items() if name != "CARGO_TARGET_DIR"}
        done = subprocess.run(
            command, cwd=self.top, env=env | {"CARGO_NET_OFFLINE": "true", "PATH": self.path},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        return done.returncode, done.stdout

    def check(self, claim, holds, output):
        print(f"{'ok' if holds else 'WRONG':5} {claim}", flush=True)
        self.passed += bool(holds)
        self.failed += not holds
        if not holds:
            print(output)

    def run(self):
        test = ("cargo", "test", "--lib", "--quiet")
        mutants = (sys.executable, "scripts/mutants")
        good = PACKAGE["src/sums.rs"]
        code, out = self.outcome(*mutants, "planted/seen")
        self.check("a mutation that a test notices passes", code == 0, out)
        code, out = self.outcome(*mutants, "planted/member")
        self.check("a mutation that a test of another package notices passes", code == 0, out)
        code, out = self.outcome(*mutants, "planted/told")
        self.check("a mutation that its story notices passes", code == 0, out)
        for name in ("unseen", "untold"):
            code, out = self.outcome(*mutants, f"planted/{name}")
            found = code == 1 and "WRONG" in out
            self.check(f"a mutation that nothing notices fails: {name}", found, out)
        self.write("src/sums.rs", good + "\nfn broken( {\n")
        code, out = self.outcome(*test, "--no-run")
        self.check("after a run, a syntax error fails the build of the tests", code != 0, out)
        self.write("src/sums.rs", good.replace("a + b", "a + b + 1"))
        code, out = self.outcome(*test)
        self.check("after a run, the tests see an edit", code != 0 and "FAILED" in out, out)
        self.write("src/sums.rs", good)
        code, out = self.outcome(*test)
        self.check("the tests pass once it is reverted", code == 0, out)
        self.outcome(*mutants, "planted/seen")
        shutil.rmtree(self.top / "target" / "debug")
        self.outcome(*test)
        code, out = self.outcome(*mutants, "planted/seen")
        self.check("after an ordinary build, a run uses its own binary", code == 0, out)
        if shutil.which("cargo-mutants", path=self.path) is None:
            print("skipped: a sample, for cargo-mutants is not installed")
            return
        code, out = self.outcome(*mutants, "--sample", "100", "--seed", "1")
        found = {line.split()[0] for line in out.splitlines() if " in sum" in line}
        self.check("a sample of what a test holds is caught", found == {"caught"}, out)
        found = {line.split()[0] for line in out.splitlines() if " in twice" in line}
        self.check("so is one of what a test of another package holds", found == {"caught"}, out)
        found = {line.split()[0] for line in out.splitlines() if " in unseen" in line}
        self.check("a sample of what no test holds is missed", found == {"missed"}, out)


# `⟦` and `⟧` in the place of the bounds that must be found, `@` before the operator.
EXPRESSIONS = [
    "let x = ⟦a @== b⟧;",
    "let x = ⟦a + b * c @- d⟧ - e;",
    "if ⟦a.len() @> b[0].max(1)⟧ && c {",
    "return ⟦f(x)? @&& !g::<A, B>(y)⟧ || z;",
    "items.iter().filter(|it| ⟦it.name @!= \"a == b\"⟧).count()",
    "let y = ⟦(1 + 2) @* -3⟧ + 4;",
    "f(a, ⟦*b @% 'c' as u32⟧)",
    "} ⟦total @+= a * b⟧;",
    "match x { _ => ⟦a @|| b⟧, }",
    "if ⟦@!a.b(c)?⟧ && d {",
    "x => ⟦@-y⟧ * z,",
    "let Some(a) = b else { return ⟦c @< d⟧ };",
    "Some(x) if ⟦x @>= 3⟧ => 1,",
]


def bounds(marked):
    """What is found in the expression, marked in the same way."""
    text = marked.replace("⟦", "").replace("⟧", "")
    at = text.index("@")
    text = text.replace("@", "")
    source = Source(text)
    try:
        prefix = marked[marked.index("@") - 1] == "⟦"
        start, end = source.prefix(at) if prefix else source.infix(at)
    except Unclear:
        return "unclear"
    return f"{text[:start]}⟦{text[start:at]}@{text[at:end]}⟧{text[end:]}"


def self_test(script):
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        test = SelfTest(Path(folder), script)
        wrong = [f"{it}\n{bounds(it)}" for it in EXPRESSIONS if bounds(it) != it]
        test.check("operands are found as Rust reads them", not wrong, "\n".join(wrong))
        test.run()
    print(f"{test.passed} passed, {test.failed} failed")
    sys.exit(1 if test.failed else 0)
