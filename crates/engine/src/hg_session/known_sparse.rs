//! A cache of which part of its files a sparse working copy has.

use std::path::Path;
use std::sync::Arc;

use vigil_hg::abort::Abort;
use vigil_hg::node::Node;
use vigil_hg::repository::Repository;
use vigil_hg::sparse::{Sparse, SparseTexts};

/// The texts that define the part as of the last question, and what was made of them.
#[derive(Default)]
pub(super) struct KnownSparse(Option<(SparseTexts, Arc<Sparse>)>);

impl KnownSparse {
    /// Returns the part that the sparse working copy of `repository`, with its top at `root` and these parents, has.
    pub(super) fn read(
        &mut self,
        repository: &Repository,
        root: &Path,
        parents: [Node; 2],
    ) -> Result<Arc<Sparse>, Abort> {
        let texts = SparseTexts::read(repository, parents)?;
        if let Some((known, sparse)) = &self.0
            && *known == texts
            && sparse.is_current(root)
        {
            return Ok(sparse.clone());
        }
        let sparse = Arc::new(Sparse::of(&texts, repository));
        self.0 = Some((texts, sparse.clone()));
        Ok(sparse)
    }
}
