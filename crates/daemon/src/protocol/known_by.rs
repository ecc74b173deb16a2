//! What a daemon's answer for one path rests on.

use bstr::BString;
use vigil_engine::session::{Basis, LastChange};
use vigil_model::bytes::{ByteReader, ByteWriter};
use vigil_model::timestamp::Timestamp;

use super::fields::{Fields, each_field, number};

/// What a daemon's answer for one path rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownBy {
    /// The time at which the whole working tree was looked at.
    pub looked_at_all: Timestamp,
    /// The latest change of the path that was heard of since then.
    pub heard: Option<LastChange>,
    /// Why the path is looked at for each question, if it is.
    pub each_time: Option<BString>,
}

impl From<Basis> for KnownBy {
    fn from(basis: Basis) -> Self {
        Self {
            looked_at_all: basis.looked_at_all,
            heard: basis.last_change,
            each_time: basis.each_time.map(BString::from),
        }
    }
}

impl KnownBy {
    pub(super) fn write(&self, body: &mut ByteWriter) {
        let mut fields = Fields(body);
        write_time(&mut fields, 1, self.looked_at_all);
        if let Some(heard) = &self.heard {
            fields.nested(3, |fields| {
                write_time(fields, 1, heard.at);
                fields.text(3, &heard.path);
                fields.number(4, heard.is_looked_at.into());
            });
        }
        if let Some(why) = &self.each_time {
            fields.text(4, why);
        }
    }

    /// Decodes all of `body`.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let mut known = Self::default();
        each_field(&mut ByteReader(body), |key, value| {
            match key {
                1 | 2 => read_time(&mut known.looked_at_all, key == 2, value)?,
                3 => known.heard = Some(read_heard(value)?),
                4 => known.each_time = Some(value.into()),
                _ => {}
            }
            Some(())
        })?;
        Some(known)
    }
}

fn read_heard(body: &[u8]) -> Option<LastChange> {
    let mut heard = LastChange {
        path: BString::default(),
        at: Timestamp::default(),
        is_looked_at: false,
    };
    each_field(&mut ByteReader(body), |key, value| {
        match key {
            1 | 2 => read_time(&mut heard.at, key == 2, value)?,
            3 => heard.path = value.into(),
            4 => heard.is_looked_at = number(value)? != 0,
            _ => {}
        }
        Some(())
    })?;
    Some(heard)
}

/// Writes the seconds as the field `key`, and the nanoseconds as the next one.
fn write_time(fields: &mut Fields<'_>, key: u32, time: Timestamp) {
    fields.number(key, time.s.cast_unsigned());
    fields.number(key.saturating_add(1), time.ns.into());
}

fn read_time(time: &mut Timestamp, is_ns: bool, value: &[u8]) -> Option<()> {
    let value = number(value)?;
    match is_ns {
        false => time.s = value.cast_signed(),
        true => time.ns = u32::try_from(value).ok().filter(|ns| *ns < 1_000_000_000)?,
    }
    Some(())
}
