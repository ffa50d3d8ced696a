"""What tests share: builders, readers and markers. Never imported by ctxd."""
