"""Protocol as data: protocol/ is written from `ctxd.server.wire`, `ctxd.server.methods` and the settings."""
