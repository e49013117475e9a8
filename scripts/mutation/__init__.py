"""Parts of scripts/mutants: random mutations (`sample`), where an expression of Rust begins and
ends (`rust`), and the script's test of itself (`selftest`)."""
