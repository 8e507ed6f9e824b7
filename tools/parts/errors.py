"""The one error of the parts."""


class PartError(Exception):
    """A part could not be found, installed, started or reached; the message says what to do next."""
