//! What identifies a conversion, so that a verdict on contents may be used again.

use bstr::{BStr, ByteSlice};
use gix_hash::Kind;
use vigil_model::bytes::ByteWriter;
use vigil_model::conversion::Conversion;
use vigil_model::state_layout::checksum;

use super::Converter;
use super::eol::Action;
use super::settings::{Direction, Program};

/// Must be changed when the same attributes and settings come to mean another conversion.
const FINGERPRINT_VERSION: u64 = 1;

/// Keeps the numbers for conversions by programs apart from the others.
const FINGERPRINT_OF_PROGRAM: u64 = 1 << 63;

impl Converter {
    /// Returns a number for everything on which [`Converter::is_unchanged`] depends at `path` besides the contents and
    /// the recorded blob. The number is the same as long as all of that is, in every process of one version of Vigil.
    ///
    /// `None` if the contents have to be compared each time, because that is an error. A comparison about which git writes a message
    /// must be repeated, too: so it is with text that is not in its declared encoding.
    ///
    /// Encodings count as programs, since most are converted by one.
    ///
    /// Line endings that a checkout would write play no part, nor do `core.safecrlf` and `core.checkRoundtripEncoding`:
    /// they only decide warnings. Where line endings depend on the blob in the index, that is the recorded one.
    pub fn fingerprint(&self, path: &BStr) -> Option<Conversion> {
        let plan = self.plan(path).ok()?;
        let hash = match self.settings.hash {
            Kind::Sha256 => 1,
            _ => 0,
        };
        let eol = match plan.eol {
            Action::Binary => 0,
            Action::Text(_) => 1,
            Action::Auto(_) => 2,
        };
        let number = FINGERPRINT_VERSION << 32 | hash << 16 | eol << 8 | u64::from(plan.ident);
        let mut written = ByteWriter::default();
        if plan.runs_filter() {
            let (name, driver) = plan.driver.as_ref()?;
            let (kind, command) = match driver.program(Direction::Clean)? {
                Program::Command(command) => ("command", command),
                Program::Process(command) => ("process", command),
            };
            for part in [name.as_bstr(), kind.into(), command] {
                written.bytes(part);
            }
        }
        if let Some(encoding) = &plan.encoding {
            for part in ["encoding".into(), encoding.as_bstr()] {
                written.bytes(part);
            }
        }
        if written.0.is_empty() {
            return Some(Conversion::known(number));
        }
        written.array(&number.to_le_bytes());
        Some(Conversion {
            number: checksum(&written.0) | FINGERPRINT_OF_PROGRAM,
            is_by_program: true,
        })
    }
}
