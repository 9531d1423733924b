"""One tiny environment per probe: what is right in it can be worked out by hand."""
