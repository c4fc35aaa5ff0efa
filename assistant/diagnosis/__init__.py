"""From the records of a run to a verdict: reading, events, attribution, findings, status."""
