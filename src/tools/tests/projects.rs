//! ZY-67: the workspace's folders as projects.

use serde_json::json;

use super::bench::Bench;
use crate::policy::{Decision, Reason};
use crate::workspace::{Root, Uri};

impl Bench {
    /// A second folder of the workspace.
    fn second(&self, name: &str) -> std::path::PathBuf {
        let path = self.root.parent().unwrap().join(name);
        std::fs::create_dir_all(&path).unwrap();
        let roots = [&self.root, &path].map(|path| Root::new(Uri::from_path(path), None).unwrap());
        self.cx.workspace.set_roots(roots.to_vec());
        path
    }

    async fn projects(&self) -> String {
        self.text("project_list", json!({})).await
    }
}

#[tokio::test]
async fn projects_are_the_workspace_s_folders_with_their_rights() {
    let mut bench = Bench::new();
    let docs = bench.second("docs");
    bench.cx.policy.untrusted_roots = vec![docs.clone()];
    let (root, docs) = (bench.root.display(), docs.display());
    assert_eq!(
        bench.projects().await,
        format!("- repo (id: {root}, writable): –\n- docs (id: {docs}, read-only): –")
    );
    bench.cx.workspace.set_roots(Vec::new());
    assert!(bench.projects().await.starts_with("There is no project"));
}

#[tokio::test]
async fn files_of_a_project_are_found_read_and_written() {
    let bench = Bench::new();
    let docs = bench.second("docs");
    std::fs::write(docs.join("a.md"), "one\ntwo\n").unwrap();
    let file = |path: &str| json!({ "project": "docs", "path": path });
    let found = bench.text(
        "project_glob",
        json!({ "project": "docs", "pattern": "*.md" }),
    );
    assert!(found.await.ends_with("docs/a.md"));
    let mut content = file("a.md");
    content["content"] = json!("one\nthree\n");
    let words = bench.fails("project_write", content.clone()).await;
    assert!(words.contains("read") && words.contains("first"), "{words}");
    assert_eq!(
        bench.text("project_read", file("a.md")).await,
        "1\tone\n2\ttwo"
    );
    bench.text("project_write", content).await;
    let uri = Uri::from_path(&docs.join("a.md"));
    let document = bench.cx.workspace.document(&uri).unwrap();
    assert_eq!(document.rope.to_string(), "one\nthree\n");
    // The id works too.
    let by_id = json!({ "project": docs.to_str().unwrap(), "path": "./a.md", "limit": 1 });
    let page = bench.call("project_read", by_id).await.unwrap();
    assert!(
        page.truncated && page.text.contains("offset 2"),
        "{}",
        page.text
    );
}

/// ZY-67: without write permission, an error result.
#[tokio::test]
async fn a_project_without_write_permission_is_not_written() {
    let mut bench = Bench::new();
    let docs = bench.second("docs");
    bench.cx.policy.untrusted_roots = vec![docs.clone()];
    let new = json!({ "project": "docs", "path": "b.md", "content": "x" });
    let words = bench.fails("project_write", new).await;
    assert!(words.contains("docs is read-only"), "{words}");
    assert!(!docs.join("b.md").exists());
    // Policy still judges the write.
    let tasks = json!({ "project": "repo", "path": ".vscode/tasks.json", "content": "{}" });
    let decision = bench.decision("project_write", tasks).await;
    assert!(matches!(
        decision,
        Decision::Ask {
            reason: Reason::ExecutesLater,
            ..
        }
    ));
}

#[tokio::test]
async fn a_path_never_leaves_its_project() {
    let bench = Bench::new();
    let docs = bench.second("docs");
    bench.file("secret.md", "x");
    #[cfg(unix)]
    std::os::unix::fs::symlink(bench.root.join("secret.md"), docs.join("link.md")).unwrap();
    let absolute = bench.root.join("secret.md");
    let absolute = absolute.to_str().unwrap();
    for path in [
        "../repo/secret.md",
        absolute,
        "a/../../repo/secret.md",
        "",
        "link.md",
    ] {
        for tool in ["project_read", "project_write"] {
            let mut call = json!({ "project": "docs", "path": path });
            if tool == "project_write" {
                call["content"] = json!("y");
            }
            let words = bench.fails(tool, call).await;
            assert!(
                words.contains("is not a path inside the project docs"),
                "{path}: {words}"
            );
        }
    }
    let words = bench
        .fails("project_read", json!({ "project": "nope", "path": "a" }))
        .await;
    assert!(
        words.contains("`nope` does not name exactly one project") && words.contains("/docs"),
        "{words}"
    );
}

/// ZY-67-C.
#[tokio::test]
async fn a_project_is_created_below_the_first_folder_and_listed() {
    let mut bench = Bench::new();
    bench.second("docs");
    let new = json!({ "name": "Site 2", "description": "The home page" });
    let decision = bench.decision("project_create", new.clone()).await;
    let asks = |reason| Decision::Ask {
        reason,
        remember: false,
    };
    assert_eq!(decision, asks(Reason::NewFolder));
    bench.text("project_create", new.clone()).await;
    let made = bench.root.join("Site 2");
    assert!(made.is_dir());
    let line = format!("- Site 2 (id: {}, writable): The home page", made.display());
    assert!(bench.projects().await.ends_with(&line));
    let page = json!({ "project": "Site 2", "path": "index.md", "content": "Hi" });
    bench.text("project_write", page).await;
    assert_eq!(bench.buffer("Site 2/index.md"), "Hi");
    let words = bench.fails("project_create", new.clone()).await;
    assert!(words.contains("already exists"), "{words}");
    let words = bench
        .fails("project_create", json!({ "name": "../x" }))
        .await;
    assert!(words.contains("a valid folder name"), "{words}");
    // A deleted folder is not a project.
    std::fs::remove_dir_all(&made).unwrap();
    assert!(!bench.projects().await.contains("Site 2"));
    bench.cx.policy.untrusted_roots = vec![bench.root.clone()];
    let words = bench.fails("project_create", new).await;
    assert!(words.contains("repo is read-only"), "{words}");
}
