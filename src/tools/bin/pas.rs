//! Entry point of `pas`.
fn main() {}
