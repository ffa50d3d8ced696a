"""Scripts of the project that ship with the repository, never with the package."""
