//! The smudge side of conversion: from a blob to the working tree.

use std::borrow::Cow;
use vigil_objects::hash::hash_blob;

use bstr::BStr;
use gix_hash::oid;

use super::conversation::Task;
use super::error::Error;
use super::filter::Input;
use super::{Converter, encoding, eol, ident};

impl Converter {
    /// Returns what a checkout would write for a regular file at `path`, from the contents `blob` of the blob `id`:
    /// ident, line endings, encoding, filter, in this order. Contents that do not change are returned as they are.
    ///
    /// The messages receive what git would write meanwhile. One filter process serves all calls, and ends with the
    /// converter.
    ///
    /// # Errors
    /// Only errors at which git exits.
    pub fn to_working_tree<'a>(
        &self,
        path: &BStr,
        id: &oid,
        blob: &'a [u8],
    ) -> Result<Cow<'a, [u8]>, Error> {
        let plan = self.plan(path)?;
        let mut contents = Cow::Borrowed(blob);
        if plan.ident {
            // Not `id`: with a replacement object, the contents are not those of `id`.
            let own_id = || hash_blob(self.settings.hash, blob);
            if let Some(expanded) = ident::expand(blob, own_id) {
                contents = expanded.into();
            }
        }
        if let Some(converted) = eol::to_crlf(&contents, plan.eol) {
            contents = converted.into();
        }
        if let Some(encoding) = &plan.encoding
            && let Some(converted) = encoding::from_utf8(
                self.child_environment(),
                path,
                encoding.as_ref(),
                &contents,
                &self.messages,
            )
        {
            contents = converted.into();
        }
        if let Some((name, driver)) = &plan.driver {
            let task = Task::Smudge { blob: id };
            match self.filter(driver, task, path, Input::Bytes(&contents))? {
                Some(filtered) => contents = filtered.into(),
                None if driver.required => {
                    return Err(Error::RequiredSmudge {
                        path: path.into(),
                        filter: name.clone(),
                    });
                }
                None => {}
            }
        }
        Ok(contents)
    }
}
