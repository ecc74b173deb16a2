//! Printing every object in the repository (`--batch-all-objects`).

use std::sync::Arc;

use vigil_model::ObjectId;
use vigil_objects::{ObjectStore, Wanted};

use super::arguments::{Batch, BatchArguments};
use super::failure::Failure;
use super::filter::Filter;
use super::format::Format;
use super::output;
use super::say::say_texts;
use super::tell::{Asked, Teller, What};
use super::threads::{self, Bounds, Item, Locations};

/// Prints all objects of `store`.
///
/// # Errors
/// The failure with which git exits. All messages before it have been written.
pub(super) fn print(
    arguments: &BatchArguments,
    format: &Format,
    store: &Arc<ObjectStore>,
    mut teller: Teller<'_>,
    bounds: Bounds,
) -> Result<(), Failure> {
    let mut said = Vec::new();
    let what = match arguments.batch {
        Batch::Contents => What::Contents,
        Batch::Info | Batch::Commands => What::Info,
    };
    let is_contents = what == What::Contents;
    let needs_info = format.wanted() != Wanted::default() || arguments.filter != Filter::Everything;
    // Only one thread can rewrite contents, and printing bare names is faster than distributing them.
    let is_alone =
        teller.use_mailmap || arguments.transform.is_some() || !is_contents && !needs_info;
    if is_contents {
        output::widen_pipe();
    }
    let find = |said: &mut Vec<String>, is_planned: bool| match arguments.unordered {
        // In pack order, facts about an object by itself are found just as fast without a plan.
        true => store
            .pack_order(said)
            .map(|all| match is_planned && is_contents {
                true => Locations::Packs(all.planned_for(bounds.threads)),
                false => Locations::Packs(all),
            }),
        false => store
            .sorted(said)
            .map(|all| match is_planned && (is_contents || needs_info) {
                true => Locations::Sorted(all.planned_for(bounds.threads)),
                false => Locations::Sorted(all),
            }),
    };
    let mut locations = find(&mut said, !is_alone);
    say_texts(&said);
    let mut told = 0;
    if !is_alone {
        let Some(locations_found) = teller.heard(locations)? else {
            return Ok(());
        };
        let tell = |teller: &mut Teller<'_>, item| tell(teller, item, what);
        let account = teller.output.account.clone();
        let printed = threads::print(
            arguments,
            format,
            store,
            locations_found,
            bounds,
            &account,
            tell,
        );
        // What looks damaged or missing may be in a mapped file that was cut.
        account.check()?;
        let Some(rest) = printed? else {
            return Ok(());
        };
        store.forget_damage();
        told = rest.objects;
        teller.output.unwanted = rest.bytes;
        locations = find(&mut Vec::new(), false);
    }
    let Some(locations) = teller.heard(locations)? else {
        return Ok(());
    };
    let mut result = Ok(());
    for item in locations.skip(told) {
        result = match item {
            // In id order git looks up each object.
            Ok(location) if !arguments.unordered && store.is_known_bad(&location) => {
                tell_again(&mut teller, location.id().to_owned(), what)
            }
            item => tell(&mut teller, item, what),
        };
        if result.is_err() {
            break;
        }
        teller.output.flush_if_full()?;
    }
    teller.output.flush()?;
    // What looks damaged or missing may be in a mapped file that was cut.
    teller.output.account.check().and(result)
}

fn tell(teller: &mut Teller<'_>, item: Item, what: What) -> Result<(), Failure> {
    let Some(location) = teller.heard(item)? else {
        return Ok(());
    };
    teller.object(asked(location.id().to_owned()), Some(location), what)
}

/// Prints an object of which one copy turned out to be damaged, from wherever a lookup now finds it.
fn tell_again(teller: &mut Teller<'_>, id: ObjectId, what: What) -> Result<(), Failure> {
    let found = teller.reader.find(&id);
    let location = teller.heard(found)?.flatten();
    teller.object(asked(id), location, what)
}

fn asked<'a>(id: ObjectId) -> Asked<'a> {
    Asked {
        id,
        name: None,
        mode: None,
        rest: None,
    }
}
