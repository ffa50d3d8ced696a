"""State and concurrency: sessions with one writer each, and what hosts ask of them."""
