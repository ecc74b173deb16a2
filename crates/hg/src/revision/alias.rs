//! Aliases in the language of revisions (`hg help revisions`, "Aliases").

use std::collections::HashMap;

use bstr::{BStr, BString};

use super::expression::{Expression, not_understood};
use crate::abort::Abort;

/// The maximum number of names and functions that are looked at while aliases are expanded.
const EXPANDED_MAX: usize = 10_000;
/// The maximum number of aliases that lead from one to the other.
const CHAIN_LEN_MAX: usize = 50;

/// The aliases of a configuration.
#[derive(Clone, Debug, Default)]
pub struct RevisionAliases(HashMap<BString, Alias>);

#[derive(Clone, Debug)]
struct Alias {
    /// The names of its arguments, if it is a function.
    parameters: Option<Vec<BString>>,
    definition: Expression,
}

impl RevisionAliases {
    /// Reads what is configured: pairs of declaration and definition, of which a later one wins.
    ///
    /// # Errors
    /// The declaration of an alias that Mercurial may not understand. It warns of such whenever it looks for changesets, even if
    /// they are not used.
    pub fn read<'c>(items: impl Iterator<Item = (&'c BStr, &'c BStr)>) -> Result<Self, &'c BStr> {
        let mut all = HashMap::new();
        for (declaration, definition) in items {
            let (name, alias) = read(declaration, definition).ok_or(declaration)?;
            all.insert(name, alias);
        }
        Ok(Self(all))
    }

    /// Returns `expression`, of which `text` is the text, with what aliases stand for in their place.
    ///
    /// # Errors
    /// An alias is not used as it is declared, or is part of what it stands for; or they stand for too much.
    pub(super) fn expanded(
        &self,
        expression: &Expression,
        text: &BStr,
    ) -> Result<Expression, Abort> {
        if self.0.is_empty() {
            return Ok(expression.clone());
        }
        let mut expansion = Expansion {
            aliases: self,
            text,
            chain: Vec::new(),
            left: EXPANDED_MAX,
        };
        expansion.expanded(expression, &HashMap::new())
    }
}

/// The arguments of an alias by their names.
type Arguments = HashMap<BString, Expression>;

struct Expansion<'e> {
    aliases: &'e RevisionAliases,
    text: &'e BStr,
    /// The aliases whose definitions are being expanded.
    chain: Vec<BString>,
    left: usize,
}

impl Expansion<'_> {
    fn refused(&self) -> Abort {
        not_understood(self.text)
    }

    /// Expands an expression in which `arguments` may be named.
    fn expanded(
        &mut self,
        expression: &Expression,
        arguments: &Arguments,
    ) -> Result<Expression, Abort> {
        self.left = self.left.checked_sub(1).ok_or_else(|| self.refused())?;
        let aliases = self.aliases;
        match expression {
            Expression::Symbol(name) => match (arguments.get(name), aliases.0.get(name)) {
                (Some(argument), _) => {
                    let argument = argument.clone();
                    self.count(&argument)?;
                    Ok(argument)
                }
                (None, Some(alias)) if alias.parameters.is_none() => {
                    self.defined(name, alias, &HashMap::new())
                }
                _ => Ok(expression.clone()),
            },
            Expression::Call(name, given) => {
                let given = given.iter().map(|given| self.expanded(given, arguments));
                let given = given.collect::<Result<Vec<_>, _>>()?;
                match aliases.0.get(name) {
                    None => Ok(Expression::Call(name.clone(), given)),
                    Some(alias) => {
                        let parameters = alias.parameters.as_ref();
                        let parameters = parameters.filter(|names| names.len() == given.len());
                        let parameters = parameters.ok_or_else(|| self.refused())?;
                        let given = parameters.iter().cloned().zip(given).collect();
                        self.defined(name, alias, &given)
                    }
                }
            }
            other => other.rebuilt(|part| self.expanded(part, arguments)),
        }
    }

    fn defined(
        &mut self,
        name: &BString,
        alias: &Alias,
        arguments: &Arguments,
    ) -> Result<Expression, Abort> {
        if self.chain.contains(name) || self.chain.len() >= CHAIN_LEN_MAX {
            return Err(self.refused());
        }
        self.chain.push(name.clone());
        let expanded = self.expanded(&alias.definition, arguments)?;
        self.chain.pop();
        Ok(expanded)
    }

    /// Counts the parts of an expression.
    fn count(&mut self, expression: &Expression) -> Result<(), Abort> {
        self.left = self.left.checked_sub(1).ok_or_else(|| self.refused())?;
        let counted = expression.rebuilt(|part| {
            self.count(part)?;
            Ok(Expression::List(Vec::new()))
        });
        counted.map(drop)
    }
}

/// Reads an alias and its name; returns `None` if Mercurial may not understand it.
fn read(declaration: &BStr, definition: &BStr) -> Option<(BString, Alias)> {
    let (name, parameters) = declared(&Expression::parse_alias(declaration).ok()?)?;
    let definition = Expression::parse_alias(definition).ok()?;
    let known = parameters.as_deref().unwrap_or_default();
    let alias = Alias {
        definition: definition.clone(),
        parameters: parameters.clone(),
    };
    is_sound(&definition, known).then_some((name, alias))
}

/// Returns the name and the names of arguments that a declaration has.
fn declared(declaration: &Expression) -> Option<(BString, Option<Vec<BString>>)> {
    let symbol = |expression: &Expression| match expression {
        Expression::Symbol(name) => Some(name.clone()),
        _ => None,
    };
    let (name, parameters) = match declaration {
        Expression::Symbol(name) => (name, None),
        Expression::Call(name, all) => {
            let names: Vec<BString> = all.iter().map(symbol).collect::<Option<_>>()?;
            let is_twice = |at: usize, name| names.iter().take(at).any(|other| other == name);
            let mut numbered = names.iter().enumerate();
            if numbered.any(|(at, name)| is_twice(at, name)) {
                return None;
            }
            (name, Some(names))
        }
        _ => return None,
    };
    (!name.starts_with(b"$")).then(|| (name.clone(), parameters))
}

/// Returns whether a definition names no arguments but the `known` ones, and those not as functions.
fn is_sound(definition: &Expression, known: &[BString]) -> bool {
    match definition {
        Expression::Symbol(name) => !name.starts_with(b"$") || known.contains(name),
        Expression::Call(name, _) if name.starts_with(b"$") || known.contains(name) => false,
        other => {
            let mut is_all_sound = true;
            let _ = other.rebuilt(|part| {
                is_all_sound &= is_sound(part, known);
                Ok(Expression::List(Vec::new()))
            });
            is_all_sound
        }
    }
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
            ("x($1, $2)", "$1 - max($2)", true),
            ("x.y", "1", true),
            ("x(", "1", false),
            ("x(a,)", "1", false),
            ("x(a, a)", "a", false),
            ("x(a, 'b')", "a", false),
            ("x y", "1", false),
            ("x-y", "1", false),
            ("$x", "1", false),
            ("", "1", false),
            ("not", "1", false),
            ("x", "", false),
            ("x", "(", false),
            ("x", "\"a", false),
            ("x", "a b", false),
            ("x", "$1", false),
            ("x(f)", "f(1)", false),
        ] {
            let read = read(declaration.into(), definition.into());
            assert_eq!(read.is_some(), expected, "{declaration} = {definition}");
        }
    }

    #[test]
    fn aliases_stand_for_a_bounded_number_of_parts() {
        let pairs = [
            ("h", "heads(x) or y"),
            ("f($1)", "$1 + $1"),
            ("g(x)", "f(f(f(f(f(f(f(f(f(f(f(f(f(f(f(x)))))))))))))))"),
            ("x", "only(h2)"),
            ("h2", "x"),
            ("y", "f(z)"),
        ];
        let pairs = pairs
            .iter()
            .map(|(name, text)| (BStr::new(name), BStr::new(text)));
        let aliases = RevisionAliases::read(pairs).unwrap();
        let expanded = |text: &str| {
            let parsed = Expression::parse(text.into(), &mut |_| Ok(false)).unwrap();
            aliases.expanded(&parsed, text.into()).ok()
        };
        let plain = |text: &str| Expression::parse(text.into(), &mut |_| Ok(false)).ok();
        assert_eq!(
            expanded("y - 1"),
            plain("z + z - 1").map(|_| {
                let z = || Box::new(Expression::Symbol("z".into()));
                let both = Box::new(Expression::Or(z(), z()));
                Expression::Minus(both, Box::new(Expression::Symbol("1".into())))
            })
        );
        assert_eq!(expanded("'y'"), plain("'y'"));
        for refused in ["h", "x", "g(1)", "f", "f()", "f(1, 2)", "y()"] {
            let is_refused = expanded(refused).is_none();
            // A function without its arguments is a name.
            assert_eq!(is_refused, refused != "f", "{refused}");
        }
    }
}
