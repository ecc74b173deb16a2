//! Audits: what is kept about working copies is compared with the disk. A difference is healed, counted and logged.

use std::time::{Duration, Instant, SystemTime};

use bstr::BString;
use parking_lot::Mutex;
use vigil_engine::session::audit::{Audit, Difference, Extent, Observed, PathFinding};
use vigil_model::counted::counted;
use vigil_model::escape::quoted;

use crate::log::Log;
use crate::sessions::{Sessions, Slot};

/// The default of the least time between two samples, and of the time without questions before one.
pub const SAMPLE_REST: Duration = Duration::from_secs(60);

/// After a sample, the auditor rests for this many times as long: it takes less than a thousandth of a core.
const REST_FACTOR: u32 = 2000;

/// How long an audit waits while a question is being answered.
const TURN_MAX: Duration = Duration::from_secs(10);

/// The most differences of one working copy that are named.
const NAMED_MAX: usize = 100;

/// Compares what is kept with the disk.
pub(crate) struct Auditor {
    log: Log,
    rest: Duration,
    turns: Mutex<Turns>,
}

#[derive(Default)]
struct Turns {
    /// The number of samples taken.
    count: usize,
    /// When the next one is due.
    next_at: Option<Instant>,
}

/// The result of an audit.
#[derive(Default)]
pub(crate) struct Report {
    /// The findings as text, one line each.
    pub(crate) text: Vec<u8>,
    /// The number of differences.
    pub(crate) differences: usize,
}

impl Auditor {
    /// Creates an auditor that takes at most one sample per `rest`.
    pub(crate) fn new(log: Log, rest: Duration) -> Self {
        Self {
            log,
            rest,
            turns: Mutex::default(),
        }
    }

    /// Audits everything that is kept.
    pub(crate) fn all(&self, sessions: &Sessions) -> Report {
        let mut report = Report::default();
        for slot in sessions.all() {
            if let Some(audited) = slot.audit(Extent::All, TURN_MAX) {
                let found = self.note(&slot, &audited);
                report.text.extend(found.text);
                report.differences = report.differences.saturating_add(found.differences);
            }
        }
        if report.text.is_empty() {
            report.text.extend_from_slice(b"nothing is kept\n");
        }
        report
    }

    /// When the next sample is due, if anything is kept and none is being taken. `idle` is the time since the last question:
    /// there must have been none for some time.
    pub(crate) fn due_at(&self, sessions: &Sessions, idle: Duration) -> Option<Instant> {
        let now = Instant::now();
        let turns = self.turns.try_lock()?;
        if sessions.is_empty() {
            return None;
        }
        let rested_at = turns.next_at.unwrap_or(now);
        let still_at = now.checked_add(self.rest.saturating_sub(idle));
        Some(still_at.map_or(rested_at, |at| at.max(rested_at)))
    }

    /// Takes a sample, unless one is being taken. Returns whether there was a difference.
    pub(crate) fn sample(&self, sessions: &Sessions) -> bool {
        let slots = sessions.all();
        let start = Instant::now();
        let Some(mut turns) = self.turns.try_lock() else {
            return false;
        };
        if slots.is_empty() {
            return false;
        }
        let slot = slots.get(turns.count % slots.len());
        turns.count = turns.count.wrapping_add(1);
        // In case that there is no end of it.
        turns.next_at = start.checked_add(self.rest);
        let audited = slot.and_then(|slot| {
            let extent = Extent::From(slot.audited().next);
            Some((slot, slot.audit(extent, Duration::ZERO)?))
        });
        let differs = audited.is_some_and(|(slot, audited)| {
            let report = self.note(slot, &audited);
            report.differences > 0
        });
        let rest = self.rest.max(start.elapsed().saturating_mul(REST_FACTOR));
        turns.next_at = Instant::now().checked_add(rest);
        differs
    }

    /// Logs the differences of `slot`, and reports them.
    fn note(&self, slot: &Slot, audited: &Result<Audit, BString>) -> Report {
        let mut report = Report::default();
        let path = slot.path();
        let path = path
            .as_ref()
            .map_or_else(|| "?".into(), |path| quoted(path));
        let audit = match audited {
            Ok(audit) => audit,
            Err(reason) => {
                let line = [&path[..], b": not compared: ", reason, b"\n"].concat();
                report.text = line;
                return report;
            }
        };
        report.differences = audit.differences.len();
        report.text.extend_from_slice(&path);
        let files = counted(audit.files, "file", "files");
        let questions = counted(audit.questions, "question", "questions");
        let differences = counted(report.differences, "difference", "differences");
        let line = format!(": {files} for {questions}, {differences}");
        report.text.extend_from_slice(line.as_bytes());
        if audit.unsettled > 0 {
            let line = format!("; for {} it changed at each try", audit.unsettled);
            report.text.extend_from_slice(line.as_bytes());
        }
        report.text.push(b'\n');
        let mut log = Vec::new();
        let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let time = time.unwrap_or_default().as_secs();
        for difference in audit.differences.iter().take(NAMED_MAX) {
            let words = words(difference);
            report.text.extend([b"    ", &words[..], b"\n"].concat());
            log.extend_from_slice(format!("{time} ").as_bytes());
            log.extend([&path[..], b": ", &words, b"\n"].concat());
        }
        let more = report.differences.saturating_sub(NAMED_MAX);
        if more > 0 {
            let line = format!("    and {more} more\n");
            report.text.extend_from_slice(line.as_bytes());
            log.extend_from_slice(format!("{time} ").as_bytes());
            log.extend(
                [
                    &path[..],
                    b": and ",
                    more.to_string().as_bytes(),
                    b" more\n",
                ]
                .concat(),
            );
        }
        if !log.is_empty() {
            // There is nobody to tell if the log cannot be written.
            let _ = self.log.write(&log);
        }
        report
    }
}

/// A difference as text: what was kept, what was found, for which question, and what had been heard.
fn words(difference: &Difference) -> Vec<u8> {
    let mut out = Vec::from(quoted(&difference.disagreement.path));
    let (untracked, ignored) = (difference.untracked.name(), difference.ignored.name());
    let heard_of_path = match difference.heard_of_path {
        Some(number) => format!("of it change {number}"),
        None => "none of it".to_owned(),
    };
    let text = format!(
        ": kept as {}, found {} (untracked {untracked}, ignored {ignored}; {} changes heard of, {heard_of_path})",
        text_of(difference.disagreement.known),
        text_of(difference.disagreement.found),
        difference.heard,
    );
    out.extend_from_slice(text.as_bytes());
    out
}

fn text_of(finding: PathFinding) -> &'static str {
    match finding {
        PathFinding::Nothing => "unchanged",
        PathFinding::Tracked(Observed::Missing) => "missing",
        PathFinding::Tracked(Observed::Present(_)) => "changed",
        PathFinding::Tracked(Observed::Nested) => "a nested repository",
        PathFinding::Untracked => "untracked",
        PathFinding::Ignored => "ignored",
    }
}
