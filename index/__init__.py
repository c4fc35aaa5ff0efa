"""Finding: the scan for literals, and retrieval of entries by meaning and by words, then verified."""
