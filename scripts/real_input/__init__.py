"""A real input: crates of cargo's registry, a reactive scripted model, Neovim, the real binary."""
