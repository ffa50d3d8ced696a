"""Counting: encodings, families of models, media, windows. Only this room knows a tokenizer."""
