//! A phase's steps as pictures: who sends to whom, how many bytes, and how often in a row.

use pas_core::wire::Phase;

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

/// The steps of a phase's largest call.
pub fn of(phase: &Phase) -> Steps {
    group(raw(phase))
}

fn raw(phase: &Phase) -> Vec<Step> {
    if phase.pairs.is_empty() { Vec::new() } else { vec![phase.pairs.clone()] }
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
