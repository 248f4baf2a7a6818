//! What PAS saw of a job, for people: on the terminal ([`text`]) and as a page ([`html`]).
//!
//! [`load`] gathers the ranks' files and the daemon's answer, [`digest`] makes of them what is
//! shown. A report is made from the ranks' files alone where there was no daemon, and from
//! whatever is left where files are missing.

pub mod counters;
pub mod digest;
pub mod html;
pub mod load;
pub mod sample;
pub mod steps;
pub mod table;
pub mod text;
pub mod timeline;
pub mod words;
