//! The machine on which the benchmarks run, and the folders that they use.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Done;

/// What a reader must know to judge the figures.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) kernel: String,
    pub(crate) memory_gib: u64,
    /// The file system that the corpora are on.
    pub(crate) file_system: String,
}

impl Machine {
    pub(crate) fn of_this_host() -> Done<Self> {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let line = |text: &str, key: &str| {
            let line = text.lines().find(|line| line.starts_with(key));
            line.and_then(|line| line.split_once(':')).map_or_else(
                || "unknown".to_owned(),
                |(_, value)| value.trim().to_owned(),
            )
        };
        let memory = line(&read("/proc/meminfo"), "MemTotal");
        let memory_kib: u64 = memory
            .split_once(' ')
            .and_then(|(number, _)| number.parse().ok())
            .unwrap_or_default();
        Ok(Self {
            processor: line(&read("/proc/cpuinfo"), "model name"),
            cores: cores(),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            memory_gib: (memory_kib + (1 << 19)) >> 20,
            file_system: file_system(&corpora_dir()?)?,
        })
    }

    pub(crate) fn sentence(&self) -> String {
        format!(
            "{}, {} cores, {} GiB of memory, Linux {}, corpora on {}.",
            self.processor, self.cores, self.memory_gib, self.kernel, self.file_system
        )
    }
}

/// The number of processors that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The type of the file system that `path` is on, as mounts(5) names it.
fn file_system(path: &Path) -> Done<String> {
    let path = path.canonicalize()?;
    let mounts = std::fs::read_to_string("/proc/self/mounts")?;
    let mut best = (0, "unknown");
    for mount in mounts.lines() {
        let mut fields = mount.split(' ').skip(1);
        if let (Some(at), Some(kind)) = (fields.next(), fields.next())
            && path.starts_with(at)
            && at.len() >= best.0
        {
            best = (at.len(), kind);
        }
    }
    Ok(best.1.to_owned())
}

/// The top folder of the workspace.
pub(crate) fn workspace() -> Done<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    Ok(here.parent().ok_or("no workspace")?.to_path_buf())
}

/// The folder for the results of the benchmarks.
pub(crate) fn docs_dir() -> Done<PathBuf> {
    let docs = workspace()?.join("docs");
    std::fs::create_dir_all(&docs)?;
    Ok(docs)
}

/// The folder in which corpora are kept from one run to the next.
pub(crate) fn corpora_dir() -> Done<PathBuf> {
    let dir = match std::env::var_os("VIGIL_BENCH_DIR") {
        Some(dir) => dir.into(),
        None => workspace()?.join("target/bench-corpora"),
    };
    std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    Ok(dir)
}
