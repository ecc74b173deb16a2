//! What is done to a file before it is compared, and what says so: for who wants to know.

use bstr::{BStr, BString};

use super::eol::Action;
use super::error::Error;
use super::{ATTRIBUTES, Converter};
use vigil_rules::attributes::{Place, Value};

/// One step of the conversion of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub treatment: Treatment,
    /// What says so.
    pub reason: Reason,
}

/// What may be done to contents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// They go through the filter of this name.
    Filter(BString),
    /// They are brought from this encoding to UTF-8.
    Encoding(BString),
    /// CRLF becomes LF.
    Text,
    /// CRLF becomes LF where the contents look like text and the index has no CRLF there.
    AutoText,
    /// `$Id: …$` becomes `$Id$`.
    Ident,
}

/// What a treatment rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// An attribute.
    Attribute {
        /// Its name.
        name: &'static str,
        /// Its state.
        value: Value,
        /// The line that gives it, if it can be told.
        place: Option<Place>,
    },
    /// `core.autocrlf`.
    AutoCrlf,
}

impl Converter {
    /// What is done to the file at `path` before it is compared, in this order; nothing, for most files.
    ///
    /// # Errors
    /// Attributes at which git ends.
    pub fn explain(&self, path: &BStr) -> Result<Vec<Step>, Error> {
        let plan = self.plan(path)?;
        let places = self.attributes.lookup_with_places(path, &ATTRIBUTES);
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
            eol.map(|treatment| (treatment, plan.eol_by)),
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
