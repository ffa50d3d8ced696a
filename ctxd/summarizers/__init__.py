"""Writers of summaries other than the host: a provider, reached through an optional library."""
