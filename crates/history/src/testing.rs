//! Test helpers: open repositories of the testkit.

use std::path::Path;

use vigil_git::environment::Environment;
use vigil_git::objects::Objects;
use vigil_git::repository::{Repository, discover};
use vigil_testkit::sandbox::Sandbox;

/// Opens what the testkit made.
pub(crate) trait OpenRepository {
    /// The main worktree's repository.
    fn repository(&self) -> Repository;
    /// Its objects.
    fn open_objects(&self) -> Objects;
    /// The repository that contains a folder.
    fn repository_at(&self, folder: &Path) -> Repository;
}

impl OpenRepository for Sandbox {
    fn repository(&self) -> Repository {
        self.repository_at(&self.top())
    }

    fn open_objects(&self) -> Objects {
        Objects::open(&self.repository()).unwrap()
    }

    fn repository_at(&self, folder: &Path) -> Repository {
        let environment = Environment::new(self.environment(), folder);
        discover(&environment, folder).unwrap()
    }
}
