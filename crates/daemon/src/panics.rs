//! Keeps panics off standard error. The engine catches those that damaged files cause in libraries; defects are
//! logged where they are caught.

use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook};

use parking_lot::Mutex;

/// The message of the first panic since [`catch`] began: later ones are its consequences.
static FIRST_MESSAGE: Mutex<Option<String>> = Mutex::new(None);

/// Installs a hook that keeps panics off standard error.
pub(crate) fn silence() {
    set_hook(Box::new(remember));
}

fn remember(panic: &PanicHookInfo<'_>) {
    FIRST_MESSAGE
        .lock()
        .get_or_insert_with(|| panic.to_string().replace('\n', " "));
}

/// Runs `work`, and returns the message if it panics. The caller must not use anything that was left half done.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    FIRST_MESSAGE.lock().take();
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|_| FIRST_MESSAGE.lock().take().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caught_panic_is_reported_with_its_place() {
        silence();
        assert_eq!(catch(|| 7), Ok(7));
        drop(catch_unwind(|| panic!("caught deep inside")));
        let told = catch(|| panic!("out of {}", "reach")).unwrap_err();
        assert!(told.contains("panics.rs:"), "{told}");
        assert!(told.ends_with("out of reach"), "{told}");
        drop(std::panic::take_hook());
    }
}
