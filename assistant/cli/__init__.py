"""The command line: one file a verb; `main` is the entry point."""
