//! The engine against a rim that keeps its promises and counts on the engine's.

mod jobs;
mod random;
mod restarts;
mod rim;
mod switches;
