//! The user's clocks.

use std::cell::OnceCell;

use bstr::{BString, ByteSlice};
use vigil_hg::revision::LocalClocks;
use vigil_history::revision::Zone;

/// Clocks in the user's time zone, which is read when it is first needed.
#[derive(Debug)]
pub(super) struct UserClocks {
    /// The value of `TZ`.
    name: Option<BString>,
    zone: OnceCell<Zone>,
}

impl UserClocks {
    /// Clocks in the zone that is the value of `TZ`, or that of the machine.
    pub(super) fn new(name: Option<BString>) -> Self {
        Self {
            name,
            zone: OnceCell::new(),
        }
    }
}

impl LocalClocks for UserClocks {
    fn offset_s(&self, time_s: i64) -> i64 {
        let name = self.name.as_ref().map(|name| name.as_bstr());
        let zone = self.zone.get_or_init(|| Zone::named(name));
        zone.offset_s(time_s)
    }
}
