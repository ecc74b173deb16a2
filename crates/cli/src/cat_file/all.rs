//! Printing every object in the repository (`--batch-all-objects`).

use std::sync::Arc;

use vigil_model::ObjectId;
use vigil_objects::{ObjectStore, Wanted};

use super::arguments::{Batch, BatchArguments};
use super::failure::Failure;
use super::filter::Filter;
use super::format::Format;
use super::object_printer::{Detail, ObjectPrinter, RequestedObject};
use super::output;
use super::say::say_texts;
use super::threads::{self, Item, Limits, Locations};

/// Prints all objects of `store`.
///
/// # Errors
/// The failure with which git exits. All messages before it have been written.
pub(super) fn print(
    arguments: &BatchArguments,
    format: &Format,
    store: &Arc<ObjectStore>,
    mut printer: ObjectPrinter<'_>,
    limits: Limits,
) -> Result<(), Failure> {
    let mut messages = Vec::new();
    let what = match arguments.batch {
        Batch::Contents => Detail::Contents,
        Batch::Info | Batch::Commands => Detail::Info,
    };
    let is_contents = what == Detail::Contents;
    let wanted = format.wanted();
    let is_filtered = arguments.filter != Filter::Everything;
    let needs_info = wanted != Wanted::default() || is_filtered;
    // Only these are found out along chains of deltas.
    let needs_chains = wanted.kind || wanted.size || is_filtered;
    // Only one thread can rewrite contents, and printing bare names is faster than distributing them.
    let is_alone =
        printer.use_mailmap || arguments.transform.is_some() || !is_contents && !needs_info;
    if is_contents {
        output::widen_pipe();
    }
    let found = match arguments.unordered {
        true => store.pack_order(&mut messages).map(Locations::Packs),
        false => store.sorted(&mut messages).map(Locations::Sorted),
    };
    say_texts(&messages);
    let Some(locations) = printer.report_messages(found)? else {
        return Ok(());
    };
    let mut done = 0;
    if !is_alone {
        // Whoever takes over has to go on in the same order: listed again, there may be other objects.
        let planned = match locations.clone() {
            // In pack order, facts about an object by itself are found just as fast without a plan.
            Locations::Packs(all) if is_contents => {
                Locations::Packs(all.planned_for(limits.threads))
            }
            Locations::Sorted(all) if is_contents || needs_chains => {
                Locations::Sorted(all.planned_for(limits.threads))
            }
            unplanned => unplanned,
        };
        let print_item = |printer: &mut ObjectPrinter<'_>, item| print_item(printer, item, what);
        let cut_guard = printer.output.cut_guard.clone();
        let printed = threads::print(
            arguments, format, store, planned, limits, &cut_guard, print_item,
        );
        // What looks damaged or missing may be in a mapped file that was cut.
        cut_guard.check()?;
        let Some(rest) = printed? else {
            return Ok(());
        };
        store.forget_damage();
        done = rest.objects;
        printer.output.already_written = rest.bytes;
    }
    let mut result = Ok(());
    for item in locations.skip(done) {
        result = match item {
            // In id order git looks up each object.
            Ok(location) if !arguments.unordered && store.is_known_bad(&location) => {
                print_again(&mut printer, location.id().to_owned(), what)
            }
            item => print_item(&mut printer, item, what),
        };
        if result.is_err() {
            break;
        }
        printer.output.flush_if_full()?;
    }
    printer.output.flush()?;
    // What looks damaged or missing may be in a mapped file that was cut.
    printer.output.cut_guard.check().and(result)
}

fn print_item(printer: &mut ObjectPrinter<'_>, item: Item, what: Detail) -> Result<(), Failure> {
    let Some(location) = printer.report_messages(item)? else {
        return Ok(());
    };
    printer.object(asked(location.id().to_owned()), Some(location), what)
}

/// Prints an object of which one copy turned out to be damaged, from wherever a lookup now finds it.
fn print_again(printer: &mut ObjectPrinter<'_>, id: ObjectId, what: Detail) -> Result<(), Failure> {
    let wanted = printer.wanted(what);
    let found = printer.reader.find_for(&id, wanted);
    let location = printer.report_messages(found)?.flatten();
    printer.object(asked(id), location, what)
}

fn asked<'a>(id: ObjectId) -> RequestedObject<'a> {
    RequestedObject {
        id,
        name: None,
        mode: None,
        rest: None,
    }
}
