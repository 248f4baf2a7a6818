//! A phase's steps as pictures: who sends to whom, how many bytes, and how often in a row.

use pas_core::library::Family;
use pas_core::schedule::{NoSchedule, Schedule, Shape};
use pas_core::wire::Phase;
use std::collections::BTreeMap;

/// Most different steps that are shown of a phase.
pub const GROUPS_MAX: usize = 12;
/// Most arrows of one picture; more cannot be told apart.
pub const ARROWS_MAX: usize = 96;

/// The steps of one call of a phase.
#[derive(Debug, Default)]
pub struct Steps {
    /// Steps with the same senders and receivers, one after the other, are one group.
    pub groups: Vec<StepGroup>,
    /// Steps in all.
    pub steps: u32,
    /// Steps beyond [`GROUPS_MAX`] groups.
    pub steps_left_out: u32,
    /// What is peculiar about the pictures, in a sentence.
    pub note: Option<&'static str>,
}

/// Steps in a row in which the same ranks send to the same.
#[derive(Debug, PartialEq, Eq)]
pub struct StepGroup {
    /// The first step's number, from 1.
    pub first: u32,
    /// How many steps.
    pub steps: u32,
    /// Source and destination in the communicator, at most [`ARROWS_MAX`].
    pub arrows: Vec<(u32, u32)>,
    /// Arrows that are not shown.
    pub arrows_left_out: usize,
    /// The most bytes that go over one arrow in one step.
    pub bytes_max: u64,
}

/// One step: source, destination, bytes.
type Step = Vec<(u32, u32, u64)>;

/// Most ranks of a communicator whose steps are worked out: everybody talks with everybody in some
/// patterns.
const RANKS_MAX: u32 = 4096;
/// Most pairs of ranks whose bytes are summed where a table would be too long.
const PAIRS_MAX: usize = 1 << 16;

/// The steps of a phase's largest call, in the library's variant of the pattern.
pub fn of(phase: &Phase, family: Family) -> Steps {
    if !phase.pairs.is_empty() {
        let note = "All messages of the phase in one picture: their order is the program's own.";
        return Steps { note: Some(note), ..group(vec![phase.pairs.clone()]) };
    }
    let Some(shape) = shape(phase, family) else {
        return Steps { note: Some("Who sends to whom is not known."), ..Steps::default() };
    };
    if shape.ranks > RANKS_MAX {
        let note = "Too many ranks for the steps to be worked out here.";
        return Steps { note: Some(note), ..Steps::default() };
    }
    match Schedule::of(&shape) {
        Ok(schedule) => {
            let step = |step: &pas_core::schedule::Step| {
                let transfers = step.transfers.iter();
                transfers.map(|one| (one.from, one.to, one.bytes)).collect::<Step>()
            };
            group(schedule.steps.iter().map(step).collect())
        }
        Err(NoSchedule::TooLong) => {
            let note = "So many steps that they are drawn as one, with the bytes of all of them.";
            Steps { note: Some(note), ..group(vec![pairs(&shape)]) }
        }
        Err(NoSchedule::NotAFormula | NoSchedule::NotOfCollective | NoSchedule::RootOutside) => {
            let note = "This pattern has no table of steps for this collective.";
            Steps { note: Some(note), ..Steps::default() }
        }
    }
}

fn shape(phase: &Phase, family: Family) -> Option<Shape> {
    let call = phase.calls.iter().max_by_key(|call| call.bytes)?;
    Some(Shape {
        collective: phase.collective?,
        pattern: phase.pattern,
        family,
        nonblocking: phase.nonblocking,
        ranks: u32::try_from(phase.members.len()).ok()?,
        root: phase.root.unwrap_or(0),
        bytes: call.bytes,
        elements: call.elements,
        segment_bytes: phase.segment_bytes,
    })
}

/// The bytes between each pair over all steps; of too many pairs the first ones.
fn pairs(shape: &Shape) -> Step {
    let mut pairs: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    let known = shape.pair_bytes(|from, to, bytes| {
        if bytes > 0 && (pairs.len() < PAIRS_MAX || pairs.contains_key(&(from, to))) {
            *pairs.entry((from, to)).or_default() += bytes;
        }
    });
    match known {
        Ok(()) => pairs.into_iter().map(|((from, to), bytes)| (from, to, bytes)).collect(),
        Err(_) => Step::new(),
    }
}

fn group(raw: Vec<Step>) -> Steps {
    let mut steps = Steps::default();
    let mut arrows_before: Vec<(u32, u32)> = Vec::new();
    for step in raw {
        steps.steps += 1;
        let arrows: Vec<(u32, u32)> = step.iter().map(|(from, to, _)| (*from, *to)).collect();
        let bytes = step.iter().map(|(_, _, bytes)| *bytes).max().unwrap_or(0);
        let same = !steps.groups.is_empty() && arrows == arrows_before;
        if same && steps.steps_left_out == 0 {
            if let Some(last) = steps.groups.last_mut() {
                last.steps += 1;
                last.bytes_max = last.bytes_max.max(bytes);
            }
            continue;
        }
        if steps.groups.len() == GROUPS_MAX {
            steps.steps_left_out += 1;
            continue;
        }
        arrows_before.clone_from(&arrows);
        let kept = spread(&arrows);
        steps.groups.push(StepGroup {
            first: steps.steps,
            steps: 1,
            arrows_left_out: arrows.len() - kept.len(),
            arrows: kept,
            bytes_max: bytes,
        });
    }
    steps
}

/// At most [`ARROWS_MAX`] of the arrows, evenly chosen.
fn spread(arrows: &[(u32, u32)]) -> Vec<(u32, u32)> {
    match arrows.len() {
        0..=ARROWS_MAX => arrows.to_vec(),
        many => (0..ARROWS_MAX).map(|i| arrows[i * many / ARROWS_MAX]).collect(),
    }
}
