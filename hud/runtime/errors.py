"""The one error of start-up: a sentence for the person who started it."""


class StartError(Exception):
    """HUD cannot start; the message says why and what to do, in a line or two."""
