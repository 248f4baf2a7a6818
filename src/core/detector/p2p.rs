//! Names the pattern of a rank's own messages.
//!
//! Only what this rank sends is seen, so a name is given only where the rank's part in the pattern
//! is complete: every partner, in order, with the same bytes. Everything else stays irregular.

use crate::pattern::Pattern;

/// One message of this rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) to: u32,
    pub(super) bytes: u64,
}

/// The pattern of what rank `rank` of `ranks` sent, in order.
pub(super) fn recognise(rank: u32, ranks: u32, sent: &[Sent]) -> Pattern {
    let Some(first) = sent.first().filter(|_| ranks > 1) else { return Pattern::Irregular };
    let equal = sent.iter().all(|message| message.bytes == first.bytes);
    let one_peer = sent.iter().all(|message| message.to == first.to);
    let others = ranks.saturating_sub(1) as usize;
    let follows = |partner: &dyn Fn(u32) -> u32, count: usize| {
        equal
            && sent.len() % count == 0
            && sent.iter().enumerate().all(|(index, message)| {
                u32::try_from(index % count).is_ok_and(|step| message.to == partner(step))
            })
    };
    if ranks == 2 {
        // All patterns are the same exchange.
        return if one_peer { Pattern::RecursiveDoubling } else { Pattern::Irregular };
    }
    if ranks.is_power_of_two() && follows(&|step| rank ^ (1 << step), ranks.ilog2() as usize) {
        return Pattern::RecursiveDoubling;
    }
    let right = (rank + 1) % ranks;
    let left = (rank + ranks - 1) % ranks;
    // Blocks of a ring differ by an element where the vector is not a multiple of the ranks.
    if one_peer && (first.to == right || first.to == left) && sent.len() % others == 0 {
        return Pattern::Ring;
    }
    if follows(&|step| (rank + step + 1) % ranks, others)
        || (ranks.is_power_of_two() && follows(&|step| rank ^ (step + 1), others))
    {
        return Pattern::Pairwise;
    }
    Pattern::Irregular
}

/// The bytes between all pairs of ranks that a recognised pattern implies, by the share of this
/// rank; of an irregular one, this rank's own. At most `most`, the caller's limit; `None` where
/// there are more.
pub(super) fn pairs(
    pattern: Pattern,
    rank: u32,
    ranks: u32,
    sent: &[Sent],
    most: usize,
) -> Option<Vec<(u32, u32, u64)>> {
    let mut own: Vec<(u32, u64)> = Vec::new();
    for message in sent {
        match own.iter_mut().find(|(to, _)| *to == message.to) {
            Some((_, bytes)) => *bytes = bytes.saturating_add(message.bytes),
            None => own.push((message.to, message.bytes)),
        }
    }
    let senders = if pattern == Pattern::Irregular { 1 } else { ranks as usize };
    if own.len().checked_mul(senders)? > most {
        return None;
    }
    let of_sender = |sender: u32| {
        own.iter().map(move |(to, bytes)| {
            let to = match pattern {
                Pattern::RecursiveDoubling => sender ^ rank ^ to,
                Pattern::Irregular => *to,
                _ => (sender + ranks + to - rank) % ranks,
            };
            (sender, to, *bytes)
        })
    };
    if pattern == Pattern::Irregular {
        return Some(of_sender(rank).collect());
    }
    Some((0..ranks).flat_map(of_sender).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(peers: impl IntoIterator<Item = u32>) -> Vec<Sent> {
        peers.into_iter().map(|to| Sent { to, bytes: 4096 }).collect()
    }

    #[test]
    fn hand_written_patterns_are_named_at_every_rank() {
        for ranks in [3, 4, 5, 6, 7, 8, 16] {
            for rank in 0..ranks {
                let ring = to(std::iter::repeat_n((rank + 1) % ranks, 2 * (ranks as usize - 1)));
                assert_eq!(recognise(rank, ranks, &ring), Pattern::Ring);
                let pairwise = to((1..ranks).map(|step| (rank + step) % ranks));
                assert_eq!(recognise(rank, ranks, &pairwise), Pattern::Pairwise);
                let shift = to([(rank + 1) % ranks]);
                assert_eq!(recognise(rank, ranks, &shift), Pattern::Irregular);
                if ranks.is_power_of_two() {
                    let doubling = to((0..ranks.ilog2()).map(|step| rank ^ (1 << step)));
                    assert_eq!(recognise(rank, ranks, &doubling), Pattern::RecursiveDoubling);
                }
            }
        }
    }

    #[test]
    fn fold_in_steps_are_not_forced_into_recursive_doubling() {
        // Five ranks: rank 1 exchanges with 2 and 4 after rank 0 folded in, and hands back.
        assert_eq!(recognise(1, 5, &to([2, 4, 0])), Pattern::Irregular);
        assert_eq!(recognise(0, 5, &to([1])), Pattern::Irregular);
    }

    #[test]
    fn two_ranks_have_one_name_whatever_is_sent() {
        for count in 1..5 {
            let sent = to(std::iter::repeat_n(1, count));
            assert_eq!(recognise(0, 2, &sent), Pattern::RecursiveDoubling);
        }
    }

    #[test]
    fn pairs_are_those_of_every_rank_or_of_this_one() {
        let ring = to([2, 2, 2]);
        let pairs_of = |pattern, sent: &[Sent]| pairs(pattern, 1, 4, sent, 4096).expect("few");
        let expected = vec![(0, 1, 12288), (1, 2, 12288), (2, 3, 12288), (3, 0, 12288)];
        assert_eq!(pairs_of(Pattern::Ring, &ring), expected);
        assert_eq!(pairs_of(Pattern::Irregular, &ring), vec![(1, 2, 12288)]);
        let doubling = to([0, 3]);
        let all = pairs_of(Pattern::RecursiveDoubling, &doubling);
        assert_eq!(all.len(), 8);
        assert!(all.contains(&(2, 3, 4096)) && all.contains(&(2, 0, 4096)));
        assert_eq!(pairs(Pattern::Ring, 0, 5000, &to([1]), 4096), None);
    }
}
