//! Test helpers: opens repositories of the testkit.

use std::path::PathBuf;

use crate::config::Config;
use crate::environment::Environment;
use crate::objects::Objects;
use crate::repository::{RefFormat, Repository};
use vigil_testkit::sandbox::{RefFormat as TestFormat, Sandbox};

/// Opens what the testkit made, without reading configuration or environment.
pub(crate) trait OpenRepository {
    /// The main worktree's repository.
    fn repository(&self) -> Repository;
    /// Its objects.
    fn open_objects(&self) -> Objects {
        Objects::open(&self.repository()).unwrap()
    }

    /// The repository of a worktree.
    fn repository_at(&self, git_dir: PathBuf, work_tree: PathBuf) -> Repository;
}

impl OpenRepository for Sandbox {
    fn repository(&self) -> Repository {
        self.repository_at(self.git_dir(), self.top())
    }

    fn repository_at(&self, git_dir: PathBuf, work_tree: PathBuf) -> Repository {
        Repository {
            index_path: git_dir.join("index"),
            git_dir_name: ".git".into(),
            ref_dir: git_dir.clone(),
            common_ref_dir: self.git_dir(),
            git_dir,
            common_dir: self.git_dir(),
            work_tree: Some(work_tree),
            work_tree_name: None,
            has_contradictory_work_tree: false,
            prefix: "".into(),
            object_dir: self.git_dir().join("objects"),
            hash: self.hash,
            compat_hash: None,
            ref_format: match self.format {
                TestFormat::Files => RefFormat::Files,
                TestFormat::Reftable => RefFormat::Reftable,
            },
            config: Config::default(),
            environment: Environment::default(),
            superprojects: Vec::new(),
        }
    }
}
