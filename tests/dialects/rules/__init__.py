"""One module per provider law: what it calls broken, and where it lets a list be cut."""
