use super::*;

/// An id that no process has.
const NOBODY: u32 = 0x3fff_fff0;

struct Place {
    _dir: tempfile::TempDir,
    work: PathBuf,
    leftovers: Leftovers,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let work = top.join("work");
        std::fs::create_dir(&work).unwrap();
        let leftovers = Leftovers::new(&top);
        private_folder(&leftovers.folder).unwrap();
        Self {
            _dir: dir,
            work,
            leftovers,
        }
    }

    /// The file that `process`, started at `started`, recorded and left behind.
    fn left(&self, process: u32, started: Option<u64>, number: u64) -> PathBuf {
        let note = Note {
            process,
            started,
            number,
            folder: self.work.clone(),
        };
        let place = self
            .leftovers
            .folder
            .join(format!("{process}-{number}.json"));
        std::fs::write(place, serde_json::to_vec(&note).unwrap()).unwrap();
        let file = self.work.join(temporary_name(process, number));
        std::fs::write(&file, "x").unwrap();
        file
    }

    fn notes(&self) -> usize {
        std::fs::read_dir(&self.leftovers.folder).unwrap().count()
    }
}

#[test]
fn what_a_dead_process_noted_is_removed_and_nothing_else() {
    let place = Place::new();
    let gone = place.left(NOBODY, None, 1);
    let own = place.left(std::process::id(), None, 2);
    // The id now belongs to another process, which did not create the file.
    let reused = place.left(std::process::id(), Some(1), 3);
    let unnoted = place.work.join(temporary_name(NOBODY, 4));
    std::fs::write(&unnoted, "x").unwrap();
    place.leftovers.sweep();
    assert!(!gone.exists() && !reused.exists());
    assert!(own.exists() && unnoted.exists());
    assert_eq!(place.notes(), 1);
}

#[test]
fn what_took_the_place_of_a_leftover_stays() {
    let place = Place::new();
    let file = place.left(NOBODY, None, 1);
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/etc/hosts", &file).unwrap();
    place.leftovers.sweep();
    assert!(std::fs::symlink_metadata(&file).is_ok());
    assert_eq!(place.notes(), 0);
}

#[test]
fn a_note_lives_as_long_as_its_file() {
    let place = Place::new();
    let noted = place.leftovers.note(&place.work, 7).unwrap();
    place.leftovers.sweep();
    assert_eq!(place.notes(), 1, "this process lives");
    drop(noted);
    assert_eq!(place.notes(), 0);
}
