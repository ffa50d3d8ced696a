"""From what a host gives to what is written: checked, cleaned, described, appended."""
