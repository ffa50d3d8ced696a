"""What left the view: fetched byte for byte, found by words."""
