"""Policy: what leaves the model view and what stands for it. Pure and sync; plans, never acts."""
