"""Who works on the invented project and what they call their commits."""

from dataclasses import dataclass

from hud.synthetic.dice import Dice


@dataclass(frozen=True)
class Person:
    """An author. `login` is None for one whose address belongs to no account, as GitHub then tells no author."""

    name: str
    login: str | None
    is_bot: bool = False

    @property
    def email(self) -> str:
        return f"{(self.login or self.name.split()[0]).lower().replace('[bot]', '')}@example.invalid"


PEOPLE = (
    Person("Ana Ferrer", "anaferrer"),
    Person("Bo Lindqvist", "bolind"),
    Person("Cem Aydın", "cemaydin"),
    Person("Dee Okafor", "dokafor"),
    Person("Emil Brandt", "ebrandt"),
    Person("Fatou Diallo", "fdiallo"),
    Person("Goran Petrić", "gpetric"),
    Person("Hana Sato", "hanasato"),
    Person("Imre Kovács", "imrek"),
    Person("Juno Reyes", "junoreyes"),
    Person("Kiri Walker", "kiriw"),
    Person("Lars Moen", "larsmoen"),
    Person("Mei-Ling Zhou", "meizhou"),
    Person("Noor Haddad", None),
)
BUMPER = Person("dependency-bumper[bot]", "dependency-bumper[bot]", is_bot=True)
RERUNNER = Person("ci-restarter[bot]", "ci-restarter[bot]", is_bot=True)
MERGER = Person("GitHub", "web-flow")

_THINGS = {
    "lease": ("lease renewal", "expired leases", "the lease table"),
    "ledger": ("ledger entries", "the ledger footer", "sealed ledgers"),
    "broker": ("broker hand-over", "the dispatch queue", "slow consumers"),
    "compaction": ("compaction picks", "tombstone runs", "the level budget"),
    "snapshot": ("snapshot chunks", "snapshot checksums", "partial snapshots"),
    "gateway": ("gateway redirects", "idle connections", "request headers"),
    "scheduler": ("timer wheels", "delayed jobs", "the run queue"),
    "index": ("index blocks", "prefix lookups", "the bloom filter"),
    "codec": ("varint decoding", "frame headers", "the zstd dictionary"),
    "quota": ("quota grants", "per-tenant limits", "the quota cache"),
    "replica": ("replica lag", "follower reads", "the catch-up stream"),
    "console": ("the cluster map", "table sorting", "the query editor"),
    "client": ("client back-off", "the retry token", "bulk writes"),
    "metrics": ("histogram buckets", "label sets", "the scrape endpoint"),
}
AREAS = tuple(_THINGS)

_PHRASES = (
    "Avoid a copy of {thing} on the hot path",
    "Retry {thing} once before giving up",
    "Log every loss of {thing}",
    "Cache {thing} per connection",
    "Use the monotonic clock for {thing}",
    "Fix an off-by-one in {thing}",
    "Bound the memory that {thing} may take",
    "Reject {thing} larger than the limit",
    "Split {thing} into a reader and a writer",
    "Keep {thing} open across restarts",
    "Document the sizing of {thing}",
    "Test {thing} under packet loss",
    "Drop the deprecated switch for {thing}",
    "Batch {thing} by shard",
    "Count {thing} by tenant",
    "Don't hold the lock while flushing {thing}",
    "Let operators turn {thing} off",
    "Move {thing} to the new error type",
    "Read {thing} lazily",
    "Tidy {thing} after the rename",
)
_LIBRARIES = ("openssl", "zlib-ng", "protobuf", "netty", "tokio", "vite", "sphinx", "pytest", "grpc", "jackson")


def author_of(dice: Dice, commit: int) -> Person:
    if dice.chance(0.08, "bump", commit):
        return BUMPER
    return dice.pick(PEOPLE, "author", commit)


def title_of(dice: Dice, commit: int) -> str:
    """The commit's title without its PR number."""
    if author_of(dice, commit).is_bot:
        major, minor = dice.between(1, 9, "major", commit), dice.between(0, 30, "minor", commit)
        return f"Bump {dice.pick(_LIBRARIES, 'library', commit)} from {major}.{minor}.0 to {major}.{minor + 1}.0"
    area = dice.pick(AREAS, "area", commit)
    thing = dice.pick(_THINGS[area], "thing", commit)
    return f"{area}: {dice.pick(_PHRASES, 'phrase', commit).format(thing=thing)}"
