"""The terminal user interface; nothing else in the program imports textual."""
