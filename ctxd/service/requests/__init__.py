"""The one call before a model request and the one after it, and what they drive."""
