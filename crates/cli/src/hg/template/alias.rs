//! Aliases in templates (`[templatealias]`): names, and functions of expressions, that stand for an expression.

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice};
use vigil_hg::bytes::trim;

use super::parse;

/// The aliases of a configuration.
#[derive(Clone, Debug, Default)]
pub(in crate::hg) struct TemplateAliases(HashMap<BString, Alias>);

/// An alias.
#[derive(Clone, Debug)]
pub(super) struct Alias {
    /// The names of its arguments, if it is a function.
    pub(super) parameters: Option<Vec<BString>>,
    pub(super) definition: BString,
}

impl TemplateAliases {
    /// Reads what is configured: pairs of declaration and definition, of which a later one wins.
    ///
    /// # Errors
    /// The declaration of which it is unclear what it declares.
    pub(in crate::hg) fn read<'c>(
        items: impl Iterator<Item = (&'c BStr, &'c BStr)>,
    ) -> Result<Self, BString> {
        let mut all = HashMap::new();
        for (declaration, definition) in items {
            let (name, parameters) = parse::declaration(declaration).ok_or(declaration)?;
            let alias = Alias {
                parameters,
                definition: trim(definition).into(),
            };
            all.insert(name, alias);
        }
        Ok(Self(all))
    }

    pub(super) fn get(&self, name: &[u8]) -> Option<&Alias> {
        self.0.get(name.as_bstr())
    }
}
