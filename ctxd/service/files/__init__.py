"""The files of a workspace, as sessions touch, read, watch and restore them."""
