"""What an admin types to follow a repository, read kindly: an address copied from the browser is a name too."""

import re
from dataclasses import dataclass, field

from hud.core.wholenumber import whole_number

MOST_COMMITS = 2000
DEFAULT_COMMITS = 100

_ADDRESS = re.compile(r"^(?:https?://[^/\s]+/|git@[^:\s]+:|ssh://[^/\s]+/)")
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")
# What git refuses in a branch's name (git help check-ref-format), as far as a typing error may hold it.
_NOT_IN_BRANCH = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|\.lock(?:/|$)|(?:^|/)\.|[./]$|^[/-]")


@dataclass(frozen=True, slots=True)
class FollowForm:
    """What was typed, as it will be used; `errors` by field name, empty where all is well."""

    full_name: str
    branch: str
    commits: int
    errors: dict[str, str] = field(default_factory=dict)


def read_follow_form(full_name: str, branch: str, commits: str) -> FollowForm:
    """Read the three fields.

    >>> read_follow_form("https://github.com/apache/ozone/", "", "50").full_name
    'apache/ozone'
    """
    errors: dict[str, str] = {}
    name = _full_name(full_name)
    if not full_name.strip():
        errors["full_name"] = "Say which repository, as owner/name."
    elif name is None:
        errors["full_name"] = "Write it as owner/name, like apache/ozone, or paste its address at GitHub."
    branch = branch.strip().removeprefix("refs/heads/")
    if len(branch) > 255:
        errors["branch"] = "A branch's name has at most 255 characters."
    elif branch and _NOT_IN_BRANCH.search(branch):
        errors["branch"] = "Git does not allow a branch of that name."
    count = _count(commits)
    if count is None or not 1 <= count <= MOST_COMMITS:
        errors["commits"] = f"Give a whole number from 1 to {MOST_COMMITS}."
    return FollowForm(name or full_name.strip(), branch, count or DEFAULT_COMMITS, errors)


def _full_name(text: str) -> str | None:
    rest = _ADDRESS.sub("", text.strip()).removesuffix("/").removesuffix(".git")
    owner, slash, name = rest.partition("/")
    # Below an address there may be more: …/owner/name/tree/main.
    name = name.split("/", 1)[0] if rest != text.strip() and slash else name
    if not _OWNER.fullmatch(owner) or not _NAME.fullmatch(name) or name in (".", ".."):
        return None
    return f"{owner}/{name}"


def _count(text: str) -> int | None:
    return whole_number(text.strip())
