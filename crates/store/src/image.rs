//! States in memory, for the fuzz targets.

use vigil_model::state_layout::docket::Docket;
use vigil_model::state_layout::{DataHeader, UNIT};
use zerocopy::{FromBytes, IntoBytes};

use super::plan::WritePlan;
use super::{Changes, Snapshot};

/// Returns the state that a docket and a data file with these bytes hold. If `fixes_headers`, the headers of both are made valid
/// and no checksum is verified, so that the fuzzer reaches the rest.
pub fn state(docket: &[u8], data: &[u8], fixes_headers: bool) -> Option<Snapshot> {
    if !fixes_headers {
        let docket = Docket::parse(docket).ok()?;
        return Snapshot::in_memory(docket, data, false).ok();
    }
    let mut bytes = docket.to_vec();
    bytes.resize(Docket::LEN, 0);
    let mut docket = Docket::read_from_bytes(&bytes).ok()?;
    let mut data = data.to_vec();
    let used = docket.used_len.get().min(data.len() as u64);
    docket.used_len = (used / UNIT * UNIT).into();
    let header = DataHeader::new(docket.data_id.get());
    data.get_mut(..size_of::<DataHeader>())?
        .copy_from_slice(header.as_bytes());
    let docket = Docket::parse(docket.sealed().as_bytes()).ok()?;
    Snapshot::in_memory(docket, &data, true).ok()
}

/// Returns the state after appending `changes` to `base`; `None` if that is not possible.
pub fn appended(base: &Snapshot, changes: &Changes<'_>) -> Option<Snapshot> {
    let edits = changes.edits(Some(base)).ok()?;
    let plan = WritePlan::append(base, &edits).ok()?;
    written(base, &plan, base.data().to_vec())
}

/// Returns the state after rewriting `base` with `changes`; `None` if that is not possible.
pub fn rewritten(base: &Snapshot, changes: &Changes<'_>) -> Option<Snapshot> {
    let edits = changes.edits(Some(base)).ok()?;
    let plan = WritePlan::rewrite(Some(base), &edits).ok()?;
    let header = DataHeader::new(base.docket().data_id.get());
    written(base, &plan, header.as_bytes().to_vec())
}

fn written(base: &Snapshot, plan: &WritePlan<'_>, mut data: Vec<u8>) -> Option<Snapshot> {
    for block in &plan.blocks {
        data.extend_from_slice(block);
        data.resize(data.len().saturating_add(usize::from(block.is_empty())), 0);
        data.resize(data.len().next_multiple_of(UNIT as usize), 0);
    }
    data.extend_from_slice(&plan.nodes);
    let docket = Docket {
        used_len: plan.used.into(),
        dead_len: plan.dead.into(),
        root: plan.root,
        ..*base.docket()
    };
    Snapshot::in_memory(docket, &data, base.is_unverified()).ok()
}
