"""Running a job: its output passed on and kept, its signals forwarded."""
