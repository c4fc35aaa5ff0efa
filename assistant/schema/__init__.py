"""The JSON Schemas of the results, generated from `assistant.verdict`."""
