"""What sessions of a workspace know of it, between sessions."""
