//! Explains what is done to a file before it is compared, and which setting decides it.

use bstr::{BStr, BString};

use super::eol::Action;
use super::error::Error;
use super::{ATTRIBUTES, Converter};
use vigil_rules::attributes::{Origin, Value};

/// One step of the conversion of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is done to the contents.
    pub treatment: Treatment,
    /// What decides it.
    pub reason: Reason,
}

/// A conversion of the contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// The filter of this name.
    Filter(BString),
    /// From this encoding to UTF-8.
    Encoding(BString),
    /// CRLF becomes LF.
    Text,
    /// CRLF becomes LF if the contents look like text and the blob in the index has no CRLF.
    AutoText,
    /// `$Id: …$` becomes `$Id$`.
    Ident,
}

/// What decides on a treatment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// An attribute.
    Attribute {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: Value,
        /// The line that sets it, if known.
        place: Option<Origin>,
    },
    /// `core.autocrlf`.
    AutoCrlf,
}

impl Converter {
    /// Returns the steps done to the file at `path` before it is compared, in order; none for most files.
    ///
    /// # Errors
    /// The attributes or settings are ones at which git exits.
    pub fn explain(&self, path: &BStr) -> Result<Vec<Step>, Error> {
        let plan = self.plan(path)?;
        let places = self.attributes.lookup_with_origins(path, &ATTRIBUTES);
        let attribute = |name| {
            let mut all = ATTRIBUTES.iter().zip(&places);
            let found = all.find(|(known, _)| **known == name);
            let found = found.and_then(|(_, found)| found.clone());
            let (value, place) = found.unzip();
            Reason::Attribute {
                name,
                value: value.unwrap_or_default(),
                place,
            }
        };
        let filter = plan.driver.as_ref().filter(|_| plan.runs_filter());
        let eol = match plan.eol {
            Action::Binary => None,
            Action::Text(_) => Some(Treatment::Text),
            Action::Auto(_) => Some(Treatment::AutoText),
        };
        let steps = [
            filter.map(|(name, _)| (Treatment::Filter(name.clone()), Some("filter"))),
            plan.encoding.as_ref().map(|name| {
                (
                    Treatment::Encoding(name.clone()),
                    Some("working-tree-encoding"),
                )
            }),
            eol.map(|treatment| (treatment, plan.eol_attribute)),
            plan.ident.then_some((Treatment::Ident, Some("ident"))),
        ];
        let steps = steps.into_iter().flatten();
        Ok(steps
            .map(|(treatment, by)| Step {
                treatment,
                reason: by.map_or(Reason::AutoCrlf, attribute),
            })
            .collect())
    }
}
