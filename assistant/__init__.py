"""What the user meets: reading logs, the verdict, reports, the command line."""

__version__ = "0.1.0"
