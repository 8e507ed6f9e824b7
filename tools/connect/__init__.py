"""Connect's own JsonConverter, asked what it makes of an envelope."""
