//! Calls and groups by number.
//!
//! A *call* is what makes two records the same for the detector: communicator, operation, peer and
//! size. Its number is the symbol from which iterations are found. A *group* is what a phase is
//! made of: calls of one pattern on one communicator.

use super::CommInfo;
use crate::event::{CommId, Event, Flags};
use crate::op::{Collective, Kind, Op};
use crate::pattern::{Pattern, Source};
use crate::rules::{self, Query};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Most calls that are told apart; with one more all are forgotten, and counted.
pub(super) const CALLS_MAX: usize = 4096;
/// Most groups; likewise.
pub(super) const GROUPS_MAX: usize = 1024;
/// Calls of fewer bytes neither set the iteration nor ask for circuits: flags, losses, barriers
/// and polling, which come when they like.
pub(super) const SMALL_BYTES: u64 = 1024;

/// What makes two records the same call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct CallKey {
    comm: CommId,
    op: Op,
    peer: i32,
    bytes: u64,
    count: u32,
    flags: u16,
}

/// A call, as a phase sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    /// The group's number.
    pub(super) group: u32,
    /// The receiver, of a message.
    pub(super) to: Option<u32>,
    pub(super) bytes: u64,
    pub(super) elements: u32,
    /// Below [`SMALL_BYTES`].
    pub(super) small: bool,
}

/// What makes two calls one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey {
    comm: u64,
    collective: Option<Collective>,
    nonblocking: bool,
    pattern: Pattern,
    root: Option<u32>,
    segment_bytes: Option<u64>,
    small: bool,
}

/// Calls of one pattern on one communicator.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The communicator, in this process: the last one with this key.
    pub(super) comm: CommId,
    pub(super) info: CommInfo,
    pub(super) collective: Option<Collective>,
    pub(super) nonblocking: bool,
    pub(super) pattern: Pattern,
    pub(super) root: Option<u32>,
    pub(super) segment_bytes: Option<u64>,
    /// The first ranks of the hosts, where only they take part in the pattern.
    pub(super) leaders: Option<Arc<[u32]>>,
    pub(super) source: Source,
    pub(super) confidence: f64,
    pub(super) because: String,
    /// Its calls are below [`SMALL_BYTES`].
    pub(super) small: bool,
}

/// The tables.
#[derive(Debug, Default)]
pub(super) struct Calls {
    numbers: HashMap<CallKey, u32>,
    calls: Vec<Call>,
    group_numbers: BTreeMap<GroupKey, u32>,
    groups: Vec<Group>,
}

/// What the tables need to know to place a new call.
pub(super) struct Known<'a> {
    pub(super) settings: &'a super::Settings,
    pub(super) declared: &'a BTreeMap<(Option<String>, Collective), Pattern>,
    pub(super) hosts: Option<u32>,
    pub(super) leaders: Option<&'a Arc<[u32]>>,
}

impl Group {
    /// True where both are the same group, perhaps of two tables.
    pub(super) fn same(&self, other: &Group) -> bool {
        let key = |group: &Group| GroupKey {
            comm: group.info.key,
            collective: group.collective,
            nonblocking: group.nonblocking,
            pattern: group.pattern,
            root: group.root,
            segment_bytes: group.segment_bytes,
            small: group.small,
        };
        key(self) == key(other)
    }
}

impl Calls {
    pub(super) fn call(&self, number: u32) -> &Call {
        &self.calls[number as usize]
    }

    pub(super) fn group(&self, number: u32) -> &Group {
        &self.groups[number as usize]
    }

    /// True where no new call may be placed: the caller forgets all of them first.
    pub(super) fn full(&self) -> bool {
        self.calls.len() >= CALLS_MAX || self.groups.len() >= GROUPS_MAX
    }

    /// The number of a record's call, if it was seen before.
    pub(super) fn find(&self, event: &Event) -> Option<u32> {
        self.numbers.get(&key(event)).copied()
    }

    /// Gives a record's call a number. `None`: it is of no interest (a receive, a completion).
    pub(super) fn place(&mut self, event: &Event, info: &CommInfo, known: &Known) -> Option<u32> {
        let small = event.bytes < SMALL_BYTES;
        let peer = u32::try_from(event.peer).ok();
        let (group, to) = match event.op.kind() {
            Kind::Blocking(collective)
            | Kind::Nonblocking(collective)
            | Kind::Persistent(collective) => {
                (collective_group(event, collective, info, known), None)
            }
            // A message to nobody (a negative peer) or from an inter-communicator is no step.
            Kind::Send | Kind::PersistentSend | Kind::SendReceive | Kind::OneSided
                if peer.is_some_and(|to| to < info.size) =>
            {
                (message_group(event, info), peer)
            }
            _ => return None,
        };
        let group = Group { small, ..group };
        let group_key = GroupKey {
            comm: info.key,
            collective: group.collective,
            nonblocking: group.nonblocking,
            pattern: group.pattern,
            root: group.root,
            segment_bytes: group.segment_bytes,
            small,
        };
        let groups = &mut self.groups;
        let group = *self.group_numbers.entry(group_key).or_insert_with(|| {
            groups.push(group);
            (groups.len() - 1) as u32
        });
        self.groups[group as usize].comm = event.comm;
        let number = self.calls.len() as u32;
        self.calls.push(Call { group, to, bytes: event.bytes, elements: event.count, small });
        self.numbers.insert(key(event), number);
        Some(number)
    }

    /// Keeps a call's size near its latest, where the size is not part of what makes it the same.
    pub(super) fn follow_size(&mut self, number: u32, event: &Event) {
        if sizes_vary(event.op) {
            let call = &mut self.calls[number as usize];
            call.bytes = call.bytes / 4 * 3 + event.bytes / 4;
            call.elements = call.elements / 4 * 3 + event.count / 4;
        }
    }
}

/// True of the calls whose counts depend on the data: they are the same call whatever their size.
fn sizes_vary(op: Op) -> bool {
    use Collective::{Allgatherv, Alltoallv, Alltoallw, Gatherv, Scatterv};
    matches!(op.collective(), Some(Allgatherv | Alltoallv | Alltoallw | Gatherv | Scatterv))
}

fn key(event: &Event) -> CallKey {
    let varies = sizes_vary(event.op) && event.bytes >= SMALL_BYTES;
    let of_interest = Flags::PREDEFINED_OP.with(Flags::IN_PLACE).0;
    CallKey {
        comm: event.comm,
        op: event.op,
        peer: event.peer,
        bytes: if varies { SMALL_BYTES } else { event.bytes },
        count: if varies { 0 } else { event.count },
        flags: event.flags.0 & of_interest,
    }
}

fn rooted(collective: Collective) -> bool {
    use Collective::{Bcast, Gather, Gatherv, Reduce, Scatter, Scatterv};
    matches!(collective, Bcast | Gather | Gatherv | Reduce | Scatter | Scatterv)
}

fn collective_group(
    event: &Event,
    collective: Collective,
    info: &CommInfo,
    known: &Known,
) -> Group {
    // The libraries carry a started persistent collective out as they do a non-blocking one.
    let nonblocking = matches!(event.op.kind(), Kind::Nonblocking(_) | Kind::Persistent(_));
    let query = Query {
        library: known.settings.library,
        collective,
        nonblocking,
        ranks: info.size,
        hosts: known.hosts,
        bytes: event.bytes,
        elements: event.count,
        predefined_op: event.flags.has(Flags::PREDEFINED_OP),
        in_place: event.flags.has(Flags::IN_PLACE),
    };
    let root = u32::try_from(event.peer).ok().filter(|_| rooted(collective));
    let predicted = rules::predict(&query, &known.settings.forced);
    let mut group = Group {
        comm: event.comm,
        info: info.clone(),
        collective: Some(collective),
        nonblocking,
        pattern: predicted.pattern,
        root,
        segment_bytes: predicted.segment_bytes,
        leaders: known.leaders.filter(|_| predicted.two_level).cloned(),
        source: Source::Predicted,
        confidence: predicted.confidence,
        because: predicted.because.into_owned(),
        small: false,
    };
    let here = (Some(info.name.clone()), collective);
    let declared = known.declared.get(&here).or_else(|| known.declared.get(&(None, collective)));
    if let Some(pattern) = declared {
        group.pattern = *pattern;
        group.segment_bytes = None;
        group.leaders = None;
        group.source = Source::Declared;
        group.confidence = 1.0;
        group.because = "declared by the program".to_owned();
    }
    group
}

fn message_group(event: &Event, info: &CommInfo) -> Group {
    Group {
        comm: event.comm,
        info: info.clone(),
        collective: None,
        nonblocking: event.op == Op::Isend,
        pattern: Pattern::Irregular,
        root: None,
        segment_bytes: None,
        leaders: None,
        source: Source::Observed,
        confidence: 1.0,
        because: "this rank's own messages".to_owned(),
        small: false,
    }
}
