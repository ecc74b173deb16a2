//! Panics are not written to standard error: the engine catches those that damaged files cause in libraries, and
//! what is a defect is logged where it is caught.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};

use parking_lot::Mutex;

/// What the first panic said since somebody last asked: those that follow are its consequences.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// Keeps panics from standard error from now on.
pub(crate) fn silence() {
    set_hook(Box::new(remember));
}

fn remember(panic: &PanicHookInfo<'_>) {
    FIRST
        .lock()
        .get_or_insert_with(|| panic.to_string().replace('\n', " "));
}

/// Runs `work`, and says what went wrong if it panics. The caller sees to it that nothing is used on that was left
/// half done.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    FIRST.lock().take();
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| FIRST.lock().take().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_told_with_its_place_by_whoever_catches_it() {
        silence();
        assert_eq!(catch(|| 7), Ok(7));
        drop(catch_unwind(|| panic!("caught deep inside")));
        let told = catch(|| panic!("out of {}", "reach")).unwrap_err();
        assert!(told.contains("panics.rs:"), "{told}");
        assert!(told.ends_with("out of reach"), "{told}");
        drop(std::panic::take_hook());
    }
}
