"""The conversation: questions answered from entries, families and the verdict, each sentence with its place.

`conversation.Conversation` is the door: `ask` takes a question, `paste` the output of a command.
"""
