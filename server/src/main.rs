//! The binary `cellar`.
fn main() {}
