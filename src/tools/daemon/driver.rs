//! What a switch and a path controller must be able to do, whatever they are.
//!
//! A driver may block: each has a thread of its own ([`super::control`]). It keeps to the engine's
//! contract: removes before creates, stop at the first failure, and tell what is, not what was
//! wished: after every change the switch is read back.

pub mod emulated;

#[cfg(test)]
mod conformance;

use pas_core::engine::{Connect, PathMove};
use pas_core::fabric::PortPair;
use std::collections::VecDeque;
use std::time::Duration;

/// One plane's switch.
pub trait OpticalDriver: Send {
    /// Removes, then creates. Stops at the first failure and says what failed.
    fn apply(&mut self, remove: &[PortPair], create: &[PortPair]) -> Result<(), String>;

    /// Every cross-connect of the switch, with the state of its links.
    fn read_back(&mut self) -> Result<Vec<Connect>, String>;

    /// When the first link that the last read-back did not tell as up should be up; zero where
    /// that moment is past. So a link that comes up while nobody looks is not forgotten.
    fn links_change_in(&self) -> Option<Duration>;
}

/// Whatever moves a job's traffic between the EPS and circuits.
pub trait SdnDriver: Send {
    /// Moves paths, both directions each.
    fn move_paths(&mut self, moves: &[PathMove]) -> Result<(), String>;

    /// The last moves, oldest first.
    fn log(&self) -> Vec<PathMove>;
}

/// Path moves that are kept.
const MOVES_MAX: usize = 4096;

/// An SDN driver that records the moves and changes nothing: circuits of the emulated OXC carry
/// no traffic of their own.
#[derive(Default)]
pub struct RecordedPaths {
    moves: VecDeque<PathMove>,
}

impl SdnDriver for RecordedPaths {
    fn move_paths(&mut self, moves: &[PathMove]) -> Result<(), String> {
        self.moves.extend(moves.iter().cloned());
        let excess = self.moves.len().saturating_sub(MOVES_MAX);
        self.moves.drain(..excess);
        Ok(())
    }

    fn log(&self) -> Vec<PathMove> {
        self.moves.iter().cloned().collect()
    }
}
