//! Parses arguments, runs, prints the error, exits.

fn main() {}
