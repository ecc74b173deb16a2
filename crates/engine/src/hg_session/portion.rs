//! Which part of its files a sparse working copy has, as of the last question.

use std::path::Path;
use std::sync::Arc;

use vigil_hg::abort::Abort;
use vigil_hg::node::Node;
use vigil_hg::repository::Repository;
use vigil_hg::sparse::{Sparse, SparseTexts};

/// What was made of the texts that say so.
#[derive(Default)]
pub(super) struct KnownSparse(Option<(SparseTexts, Arc<Sparse>)>);

impl KnownSparse {
    /// What the working copy of `repository`, with its top at `root`, has where these are its parents.
    pub(super) fn read(
        &mut self,
        repository: &Repository,
        root: &Path,
        parents: [Node; 2],
    ) -> Result<Arc<Sparse>, Abort> {
        let Some(texts) = SparseTexts::read(repository, parents)? else {
            return Ok(Arc::new(Sparse::everything()));
        };
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
