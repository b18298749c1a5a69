"""The recommendation: the verdict for a trace or a job, how sure it is, what comes first, and how it is put.

May import the rules and what they may."""
