"""Start-up and supervision: what runs before and around Django, and imports nothing of it."""
