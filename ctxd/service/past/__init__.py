"""Reading sessions back, and going back in them."""
