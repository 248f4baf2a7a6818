//! A circuit's life, as a table.
//!
//! | state     | made     | missing | carrying | dark | release  | cooled |
//! |-----------|----------|---------|----------|------|----------|--------|
//! | switching | lit      | failed  |          |      | draining |        |
//! | lit       |          | failed  | up       |      | draining |        |
//! | up        |          | failed  |          | lit  | draining |        |
//! | draining  |          | gone    |          |      |          |        |
//! | failed    | draining |         |          |      |          | gone   |
//!
//! An empty field: nothing changes. A circuit that is draining or failed is forgotten only when
//! its traffic is back on the EPS; the engine sees to that before it tells of it.

use crate::wire::CircuitState;

/// What happens to a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Happening {
    /// The switch was read back with its cross-connect.
    Made,
    /// The switch was read back without it.
    Missing,
    /// The traffic was moved onto it.
    Carrying,
    /// Its link went down.
    Dark,
    /// It is to go: its owner ended, gave it back, or another plan takes its ports.
    Release,
    /// The time is over in which its ports are left alone.
    Cooled,
}

/// The state afterwards; `None`: the circuit is no more.
pub(super) const fn after(state: CircuitState, happening: Happening) -> Option<CircuitState> {
    use CircuitState as S;
    use Happening as H;
    Some(match (state, happening) {
        (S::Switching, H::Made) | (S::Up, H::Dark) => S::Lit,
        (S::Lit, H::Carrying) => S::Up,
        (S::Switching | S::Lit | S::Up, H::Missing) => S::Failed,
        (S::Switching | S::Lit | S::Up, H::Release) | (S::Failed, H::Made) => S::Draining,
        (S::Draining, H::Missing) | (S::Failed, H::Cooled) => return None,
        (unchanged, _) => unchanged,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_answers_every_happening_as_the_table_says() {
        use CircuitState::{Draining, Failed, Lit, Switching, Up};
        use Happening::{Carrying, Cooled, Dark, Made, Missing, Release};
        let happenings = [Made, Missing, Carrying, Dark, Release, Cooled];
        let same = |state| [Some(state); 6];
        let mut table = [
            (Switching, same(Switching)),
            (Lit, same(Lit)),
            (Up, same(Up)),
            (Draining, same(Draining)),
            (Failed, same(Failed)),
        ];
        table[0].1[0] = Some(Lit);
        table[0].1[1] = Some(Failed);
        table[0].1[4] = Some(Draining);
        table[1].1[1] = Some(Failed);
        table[1].1[2] = Some(Up);
        table[1].1[4] = Some(Draining);
        table[2].1[1] = Some(Failed);
        table[2].1[3] = Some(Lit);
        table[2].1[4] = Some(Draining);
        table[3].1[1] = None;
        table[4].1[0] = Some(Draining);
        table[4].1[5] = None;
        for (state, row) in table {
            for (happening, expected) in happenings.into_iter().zip(row) {
                assert_eq!(after(state, happening), expected, "{state:?} on {happening:?}");
            }
        }
    }
}
