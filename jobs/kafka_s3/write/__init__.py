"""TODO: contents."""
