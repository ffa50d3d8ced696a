"""The rows of the one table of methods, by the noun of what they are about."""
