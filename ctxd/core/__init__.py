"""Laws: pure functions over the nouns. Nothing here knows a provider, a file or a clock."""
