//! Aliases in the language of revisions (`hg help revisions`, "Aliases").

use bstr::{BStr, BString, ByteSlice};

use super::expression::Expression;
use crate::bytes::trim;

/// Returns whether Mercurial surely understands an alias. It warns of others whenever it looks for changesets, even if
/// they are not used.
pub fn is_sound_alias(declaration: &BStr, definition: &BStr) -> bool {
    is_declaration(declaration) && Expression::parse(definition, &mut |_| Ok(true)).is_ok()
}

/// Returns whether this is a name, perhaps with the names of parameters in parentheses.
fn is_declaration(text: &[u8]) -> bool {
    let Some((name, rest)) = text.split_once_str("(") else {
        return is_name(text);
    };
    let Some(parameters) = rest.strip_suffix(b")") else {
        return false;
    };
    let mut names: Vec<BString> = match trim(parameters) {
        b"" => Vec::new(),
        _ => parameters
            .split(|byte| *byte == b',')
            .map(|name| trim(name).into())
            .collect(),
    };
    let count = names.len();
    let are_names = is_name(name) && names.iter().all(|name| is_name(name));
    names.sort_unstable();
    names.dedup();
    are_names && names.len() == count
}

fn is_name(text: &[u8]) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let is_operator = matches!(text, b"and" | b"or" | b"not");
    !text.is_empty() && text.iter().all(is_letter) && !is_operator
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_a_name_and_an_expression() {
        for (declaration, definition, expected) in [
            ("x", "1", true),
            ("x", "nosuch(a, 'b c')::y", true),
            ("x()", "all()", true),
            ("x(a, b)", "a - b", true),
            ("x(", "1", false),
            ("x(a,)", "1", false),
            ("x(a, a)", "a", false),
            ("x y", "1", false),
            ("x-y", "1", false),
            ("", "1", false),
            ("not", "1", false),
            ("x", "", false),
            ("x", "(", false),
            ("x", "\"a", false),
            ("x", "a b", false),
            ("x", "$1", false),
        ] {
            let sound = is_sound_alias(declaration.into(), definition.into());
            assert_eq!(sound, expected, "{declaration} = {definition}");
        }
    }
}
