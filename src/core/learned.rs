//! What was seen on the wire, kept for the next run: which patterns a library's messages allow, by
//! library, collective and size.
//!
//! Evidence is a set of patterns that fit ([`crate::recognise`]). Evidence of several ranks, calls
//! and runs is put together by intersection, so it does not matter in which order, how often, or by
//! whom it was gathered. Where the sets of two sizes are the same, sizes between them are taken to
//! be alike; a size is otherwise only known if it was seen.

use crate::library::{Family, Library};
use crate::op::Collective;
use crate::pattern::PatternSet;
use crate::rules::Query;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the file's format.
pub const VERSION: u32 = 1;
/// Most kinds of call that are kept; more are counted.
pub const KINDS_MAX: usize = 1024;
/// Most sizes of one kind of call.
pub const SIZES_MAX: usize = 64;
/// A file of more bytes than this is not read.
pub const FILE_BYTES_MAX: u64 = 8 << 20;

/// All of a call but its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kind {
    /// Who made the library.
    pub family: Family,
    /// The first number of its version.
    pub major: u16,
    /// The second.
    pub minor: u16,
    /// What the environment forces ([`crate::library::Forced::fingerprint`]).
    pub forced: u64,
    /// The collective.
    pub collective: Collective,
    /// True of the non-blocking call.
    pub nonblocking: bool,
    /// Ranks of the communicator.
    pub ranks: u32,
    /// Hosts that they are on, where that is known.
    pub hosts: Option<u32>,
    /// The operation is a predefined one.
    pub predefined_op: bool,
    /// The send buffer is `MPI_IN_PLACE`.
    pub in_place: bool,
}

/// What is known of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Bytes of one block.
    pub bytes: u64,
    /// The patterns that fit everything that was seen; empty where that contradicts itself.
    pub fits: PatternSet,
    /// Bytes of one pipeline segment, where there are segments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment_bytes: Option<u64>,
}

/// What [`Learned::find`] answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The evidence; its size is the nearest one that was seen.
    pub evidence: Evidence,
    /// That very size was seen.
    pub exact: bool,
}

/// All that was learned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learned {
    kinds: BTreeMap<Kind, BTreeMap<u64, Evidence>>,
    /// Evidence that was not kept, there being too much.
    pub dropped: u64,
}

/// The file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    pas_learned: u32,
    calls: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    kind: Kind,
    sizes: Vec<Evidence>,
}

impl Kind {
    /// The kind of a call, with what the environment forces as one number.
    pub fn of(query: &Query, forced: u64) -> Kind {
        let Library { family, major, minor, .. } = query.library;
        Kind {
            family,
            major,
            minor,
            forced,
            collective: query.collective,
            nonblocking: query.nonblocking,
            ranks: query.ranks,
            hosts: query.hosts,
            predefined_op: query.predefined_op,
            in_place: query.in_place,
        }
    }
}

impl Learned {
    /// Adds evidence; true where something is known now that was not.
    pub fn note(&mut self, kind: Kind, evidence: Evidence) -> bool {
        if self.kinds.len() == KINDS_MAX && !self.kinds.contains_key(&kind) {
            self.dropped += 1;
            return false;
        }
        let sizes = self.kinds.entry(kind).or_default();
        if sizes.len() == SIZES_MAX && !sizes.contains_key(&evidence.bytes) {
            self.dropped += 1;
            return false;
        }
        let Some(known) = sizes.get_mut(&evidence.bytes) else {
            sizes.insert(evidence.bytes, evidence);
            return true;
        };
        let before = *known;
        known.fits = known.fits.and(evidence.fits);
        // The longest message is a whole segment; a short rest may be all that one rank sends.
        known.segment_bytes = known.segment_bytes.max(evidence.segment_bytes);
        *known != before
    }

    /// What is known of a call of this kind and size.
    pub fn find(&self, kind: &Kind, bytes: u64) -> Option<Found> {
        let sizes = self.kinds.get(kind)?;
        if let Some(evidence) = sizes.get(&bytes) {
            return Some(Found { evidence: *evidence, exact: true });
        }
        let (_, below) = sizes.range(..bytes).next_back()?;
        let (_, above) = sizes.range(bytes..).next()?;
        let alike = below.fits == above.fits && below.segment_bytes == above.segment_bytes;
        alike.then_some(Found { evidence: *below, exact: false })
    }

    /// Adds all that another one knows; true where anything was new.
    pub fn merge(&mut self, other: &Learned) -> bool {
        let all = other.kinds.iter().flat_map(|(kind, sizes)| sizes.values().map(|e| (*kind, *e)));
        all.fold(false, |new, (kind, evidence)| self.note(kind, evidence) | new)
    }

    /// True where nothing was learned.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The file's text, one kind of call a line.
    ///
    /// # Errors
    /// None that the types allow; the JSON library's signature has one.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        let entries = self.kinds.iter().map(|(kind, sizes)| {
            let sizes = sizes.values().copied().collect();
            serde_json::to_string(&Entry { kind: *kind, sizes })
        });
        let lines = entries.collect::<Result<Vec<_>, _>>()?;
        Ok(format!("{{\"pas_learned\":{VERSION},\"calls\":[\n{}\n]}}\n", lines.join(",\n")))
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// What is wrong with the text, in one line; nothing of a damaged file is taken.
    pub fn from_text(text: &str) -> Result<Learned, String> {
        if text.len() as u64 > FILE_BYTES_MAX {
            return Err(format!("{} bytes are more than {FILE_BYTES_MAX}", text.len()));
        }
        let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if file.pas_learned != VERSION {
            let found = file.pas_learned;
            return Err(format!("format {found}, and this version reads {VERSION}"));
        }
        let mut learned = Learned::default();
        for entry in file.calls {
            for evidence in entry.sizes {
                learned.note(entry.kind, evidence);
            }
        }
        Ok(learned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;

    fn kind(ranks: u32) -> Kind {
        Kind {
            family: Family::OpenMpi,
            major: 4,
            minor: 1,
            forced: 7,
            collective: Collective::Allreduce,
            nonblocking: false,
            ranks,
            hosts: None,
            predefined_op: true,
            in_place: false,
        }
    }

    fn evidence(bytes: u64, fits: &[Pattern]) -> Evidence {
        Evidence { bytes, fits: fits.iter().copied().collect(), segment_bytes: None }
    }

    const LINEAR_OR_TREE: &[Pattern] = &[Pattern::Linear, Pattern::BinomialTree];
    const TREE_OR_CHAIN: &[Pattern] = &[Pattern::BinomialTree, Pattern::Chain];

    #[test]
    fn evidence_is_narrowed_in_any_order_and_once() {
        let (one, other) = (evidence(64, LINEAR_OR_TREE), evidence(64, TREE_OR_CHAIN));
        let mut forth = Learned::default();
        assert!(forth.note(kind(4), one));
        assert!(forth.note(kind(4), other));
        assert!(!forth.note(kind(4), other), "nothing new");
        let mut back = Learned::default();
        back.note(kind(4), other);
        assert!(back.merge(&{
            let mut learned = Learned::default();
            learned.note(kind(4), one);
            learned
        }));
        assert_eq!(forth, back);
        let found = forth.find(&kind(4), 64).expect("seen");
        assert!(found.exact);
        assert_eq!(found.evidence.fits.iter().collect::<Vec<_>>(), [Pattern::BinomialTree]);
        assert_eq!(forth.find(&kind(5), 64), None);
    }

    #[test]
    fn contradictions_are_kept_as_such() {
        let mut learned = Learned::default();
        learned.note(kind(4), evidence(64, &[Pattern::Ring]));
        learned.note(kind(4), evidence(64, &[Pattern::Chain]));
        assert!(learned.find(&kind(4), 64).expect("seen").evidence.fits.is_empty());
    }

    #[test]
    fn only_sizes_between_alike_ones_are_inferred() {
        let mut learned = Learned::default();
        for (bytes, pattern) in
            [(64, Pattern::Chain), (1024, Pattern::Chain), (8192, Pattern::Ring)]
        {
            learned.note(kind(4), evidence(bytes, &[pattern]));
        }
        let found = learned.find(&kind(4), 512).expect("between alike ones");
        assert!(!found.exact && found.evidence.fits.contains(Pattern::Chain));
        for bytes in [32, 4096, 16_384] {
            assert_eq!(learned.find(&kind(4), bytes), None, "{bytes}");
        }
    }

    #[test]
    fn the_file_gives_back_what_was_written() {
        let mut learned = Learned::default();
        for ranks in 2..20 {
            let segment_bytes = (ranks % 3 == 0).then_some(4096);
            let entry = evidence(u64::from(ranks) * 100, LINEAR_OR_TREE);
            learned.note(kind(ranks), Evidence { segment_bytes, ..entry });
        }
        let text = learned.to_text().expect("text");
        assert_eq!(Learned::from_text(&text), Ok(learned));
    }

    #[test]
    fn damaged_and_foreign_files_are_refused_whole() {
        let mut learned = Learned::default();
        learned.note(kind(4), evidence(64, LINEAR_OR_TREE));
        let text = learned.to_text().expect("text");
        for end in 0..text.len() - 2 {
            assert!(Learned::from_text(&text[..end]).is_err(), "cut at {end}");
        }
        let newer = text.replace("\"pas_learned\":1", "\"pas_learned\":2");
        assert!(Learned::from_text(&newer).expect_err("newer").contains("format 2"));
        assert!(Learned::from_text(&text.replace("linear", "spiral")).is_err());
    }

    #[test]
    fn limits_hold_and_are_counted() {
        let mut learned = Learned::default();
        for ranks in 0..KINDS_MAX as u32 + 10 {
            learned.note(kind(ranks), evidence(1, LINEAR_OR_TREE));
        }
        for bytes in 1..=SIZES_MAX as u64 + 5 {
            learned.note(kind(0), evidence(bytes, LINEAR_OR_TREE));
        }
        assert_eq!(learned.dropped, 15);
    }
}
