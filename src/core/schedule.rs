//! Step tables: who sends how many bytes to whom in each step of a pattern.
//!
//! A [`Shape`] names one call of a collective and how it is carried out. From it come, for any
//! number of ranks, the whole table ([`Schedule::of`]) or, where the table would be long, the bytes
//! between each pair of ranks alone ([`Shape::pair_bytes`]: a ring of 4096 ranks has 33 million
//! transfers but 4096 pairs). Ranks are those of the communicator.
//!
//! Where Open MPI and MPICH differ in a detail of one algorithm (which of two ranks sits out when
//! their number is not a power of two, say), the table is that of [`Shape::family`].
//!
//! The pieces: `cut` divides a vector into blocks; `stage`, `tree` and `exchange` are the building
//! blocks; `table` says which stages make up each pattern.

mod cut;
mod exchange;
mod stage;
mod table;
mod tree;

#[cfg(test)]
mod tests;

use crate::library::Family;
use crate::op::Collective;
use crate::pattern::Pattern;

pub use cut::Part;

/// A table of more transfers than this is not built; [`Shape::pair_bytes`] has no such limit.
pub const TRANSFERS_MAX: u64 = 1 << 20;

/// One call of a collective and how it is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The collective.
    pub collective: Collective,
    /// Its pattern.
    pub pattern: Pattern,
    /// Whose variant of the pattern, where libraries differ.
    pub family: Family,
    /// True of the non-blocking call: Open MPI counts ranks from the root differently there.
    pub nonblocking: bool,
    /// Ranks of the communicator.
    pub ranks: u32,
    /// The root of rooted collectives, else 0.
    pub root: u32,
    /// Bytes of one block, as [`crate::event::Event::bytes`] says.
    pub bytes: u64,
    /// Elements of one block; vectors are cut between elements. 0: between bytes.
    pub elements: u32,
    /// Bytes of one pipeline segment, where there are segments.
    pub segment_bytes: Option<u64>,
}

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// What it carries.
    pub part: Part,
    /// How long it is.
    pub bytes: u64,
}

/// Messages that do not wait for each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// In the order of their senders, mostly.
    pub transfers: Vec<Transfer>,
}

/// The steps of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The blocks that [`Transfer::part`] counts.
    pub blocks: u32,
    /// The steps; each needs what the one before it brought.
    pub steps: Vec<Step>,
}

/// Why there is no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSchedule {
    /// The pattern is not a formula ([`Pattern::Irregular`], [`Pattern::Neighborhood`],
    /// [`Pattern::Unknown`]).
    NotAFormula,
    /// The collective is never carried out in this way.
    NotOfCollective,
    /// The root is not a rank of the communicator.
    RootOutside,
    /// More than [`TRANSFERS_MAX`] transfers.
    TooLong,
}

impl Schedule {
    /// The table of one call. One rank alone sends nothing: no steps.
    pub fn of(shape: &Shape) -> Result<Schedule, NoSchedule> {
        let plan = table::plan(shape)?;
        if plan.transfers() > TRANSFERS_MAX {
            return Err(NoSchedule::TooLong);
        }
        let mut steps: Vec<Step> = Vec::new();
        plan.emit(&mut |step, transfer| {
            let step = step as usize;
            if steps.len() <= step {
                steps.resize_with(step + 1, Step::default);
            }
            steps[step].transfers.push(transfer);
        });
        steps.retain(|step| !step.transfers.is_empty());
        Ok(Schedule { blocks: plan.blocks(), steps })
    }
}

impl Shape {
    /// Calls `sink` with (source, destination, bytes) until every pair's bytes over all steps are
    /// told. A pair may be told in several portions; messages of no bytes are told too.
    pub fn pair_bytes(&self, mut sink: impl FnMut(u32, u32, u64)) -> Result<(), NoSchedule> {
        table::plan(self)?.pairs(&mut sink);
        Ok(())
    }
}
