//! Windows of one-sided communication: each stands for the communicator that it was made of.

use super::handle_map::HandleMap;
use crate::skip::Bypass;
use parking_lot::Mutex;
use pas_core::event::CommId;

/// Windows that are told apart at one time.
const WINDOWS_MAX: usize = 512;

/// The registry.
pub struct Windows {
    map: HandleMap<{ WINDOWS_MAX * 2 }>,
    /// One writer at a time.
    writer: Mutex<()>,
}

impl Windows {
    /// A registry that knows nothing.
    pub fn new() -> Windows {
        Windows { map: HandleMap::new(), writer: Mutex::new(()) }
    }

    /// The communicator of a window.
    #[inline]
    pub fn comm_of(&self, window: usize) -> Option<CommId> {
        self.map.get(window).map(|id| CommId(id as u32))
    }

    /// A window was made of a communicator.
    pub fn insert(&self, window: usize, comm: CommId) {
        let _writer = self.writer.lock();
        if !self.map.insert(window, u64::from(comm.0)) {
            Bypass::WindowTableFull.count();
        }
    }

    /// The program is about to free the window.
    pub fn remove(&self, window: usize) {
        let _writer = self.writer.lock();
        self.map.remove(window);
    }
}
