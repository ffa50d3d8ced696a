"""What messages say, apart from how any provider writes it: one reader and one writer for each dialect."""
