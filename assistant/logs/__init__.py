"""Reading logs: what the inputs are, how they are opened, and what their lines say about a run."""
