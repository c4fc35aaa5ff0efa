"""The JSON Schemas of the results, generated from `assistant.verdict` and `assistant.chat.contract`."""
