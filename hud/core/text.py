"""Text as PostgreSQL takes it."""

REPLACEMENT = "\ufffd"
CUT_MARK = " …[cut]"


def storable(text: str | None, limit: int = 4000) -> str:
    """Return `text` with NULs and lone surrogates replaced visibly, and cut with a mark past `limit` characters."""
    if not text:
        return ""
    if "\x00" in text:
        text = text.replace("\x00", REPLACEMENT)
    try:
        text.encode()
    except UnicodeEncodeError:
        # "surrogatepass" joins proper pairs; what stays alone becomes the replacement character.
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if len(text) > limit:
        text = text[: limit - len(CUT_MARK)] + CUT_MARK
    return text
