//! HEAD, looked up by name: a branch, a tag or a remote can be called HEAD, too.

use bstr::{BStr, BString};

use super::{Memory, Options, resolve_in_context};
use vigil_git::objects::Objects;
use vigil_git::refs::{self, Head, Raw, Refs, SHORT_NAME_RULES};
use vigil_git::repository::Repository;

/// What commands find that look HEAD up by name, as git's `status` does (gitrevisions(7), "refname").
#[derive(Clone, Debug)]
pub struct HeadByName {
    /// HEAD itself.
    pub own: Head,
    /// HEAD with the commit that its name stands for. If HEAD names a branch without a commit, that is the commit of another
    /// reference called HEAD, if there is one.
    pub found: Head,
    /// What git says about the name each time that it looks it up: whole lines, without line feeds.
    pub messages: Vec<BString>,
}

impl HeadByName {
    /// Looks HEAD up.
    ///
    /// # Errors
    /// HEAD or `packed-refs` cannot be read.
    pub fn read(
        repository: &Repository,
        refs: &Refs,
        objects: &Objects,
    ) -> Result<Self, refs::Error> {
        let own = refs.head()?;
        let mut found = own.clone();
        let mut messages = Vec::new();
        if has_namesake(refs)? {
            let (name, options) = (BStr::new("HEAD"), Options::default());
            let memory = Memory::new();
            let resolution = resolve_in_context(name, &options, repository, refs, objects, &memory);
            messages = resolution.messages;
            if let Head::Branch { id: id @ None, .. } = &mut found {
                *id = resolution.outcome.ok().map(|resolved| resolved.id);
            }
        }
        Ok(Self {
            own,
            found,
            messages,
        })
    }
}

/// Whether any other reference may be called HEAD.
fn has_namesake(refs: &Refs) -> Result<bool, refs::Error> {
    for (before, after) in SHORT_NAME_RULES.into_iter().skip(1) {
        let name = BString::from([before, b"HEAD", after].concat());
        if refs.read(name.as_ref())? != Raw::Missing {
            return Ok(true);
        }
    }
    Ok(false)
}
