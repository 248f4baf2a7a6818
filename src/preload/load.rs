//! What happens when the loader has loaded us, in whatever process: three queries, and the newer
//! names are hidden. No thread, file, connection or output.
#![expect(unsafe_code, reason = "a constructor is named to the loader by a section")]

use super::{entry, newer, special};
use crate::sys;

extern "C" fn on_load() {
    sys::note_stdio();
    newer::hide_newer(|visit| {
        entry::each_newer(visit);
        special::each_newer(visit);
    });
}

#[used]
// SAFETY: the section holds pointers to functions that the loader calls once, after relocation.
#[unsafe(link_section = ".init_array")]
static ON_LOAD: extern "C" fn() = on_load;
