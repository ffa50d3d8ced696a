"""Memory files and episodes of a workspace, written by several daemons and by people's editors."""
