"""The coded checks, one module for each kind; `corpus.lint` runs them."""
