//! The classes of many entries of one folder, for searches: what the folder's own names say is found
//! once, not once per entry.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{
    Class, SECRET_FOLDERS, SECRET_PAIRS, chat_folder, class, fold, is_pair, secret_file,
    secret_folder,
};

/// The entries of one folder.
pub struct Entries<'a> {
    folder: PathBuf,
    own: &'a [PathBuf],
    last: String,
    /// What the folder's names alone say; `None` if that depends on the entry in other ways too:
    /// near our own folders and the top.
    inherited: Option<Class>,
}

impl<'a> Entries<'a> {
    /// The entries of the canonical `folder`.
    pub fn new(folder: &Path, own: &'a [PathBuf]) -> Self {
        let mut names = super::names(folder);
        let near = |own: &PathBuf| {
            let own = super::names(own);
            let common = own.len().min(names.len());
            own[..common] == names[..common]
        };
        let plain = names.len() >= 2 && !own.iter().any(near);
        let inherited = plain.then(|| {
            let class = class(folder, &[]);
            let pairs = || {
                names
                    .iter()
                    .zip(names.iter().skip(1).map(|it| Some(it.as_str())))
            };
            let last = names.last().map(|it| (it, None));
            Class {
                special: class.special,
                hidden: class.hidden,
                // Not `class.secret`: a folder may be named like a file of secrets.
                secret: pairs()
                    .chain(last)
                    .any(|(it, next)| secret_folder(it, next)),
                ..Class::default()
            }
        });
        Self {
            last: names.pop().unwrap_or_default(),
            folder: folder.to_owned(),
            own,
            inherited,
        }
    }

    /// `hidden`, `secret` and `special` of an entry as in its [`class`]; the rest is not filled in.
    pub fn class(&self, name: &OsStr) -> Class {
        let Some(mut class) = self.inherited else {
            return class(&self.folder.join(name), self.own);
        };
        let name = fold(&name.to_string_lossy());
        class.hidden |= chat_folder(&self.last, Some(&name));
        class.secret |= is_pair(SECRET_PAIRS, &self.last, Some(&name))
            || SECRET_FOLDERS.contains(&name.as_str())
            || secret_file(&name);
        class
    }
}
