"""A session's event log: framed lines in segments, one writer, a lease, and what follows a crash."""
