//! Entry point of `pasd`.
fn main() {}
