"""Who fuzzes next: time goes to what still finds something, and nobody is forgotten."""

from dataclasses import dataclass

FORGETTING = 0.5  # how much of the rate of news so far counts after one more slice
SLICE_MIN = 40  # seconds, where there are so many for each driver
# Fork mode goes on after a finding, but begins with jobs of 1, 2, 3 … s, each with a start and a merge of its own: in a
# slice shorter than this one process gets further, and what it finds is looked into when it ends.
FORK_MIN = 40
EVERY = 4  # of so many slices one goes to whoever had the least time


@dataclass
class Share:
    """What a driver had and what it made of it."""

    seconds: float = 0.0
    cpu: float = 0.0  # seconds of all cores
    executions: int = 0
    edges: int = 0
    features: int = 0
    slices: int = 0
    news: float = 0.0  # new features a second, of late
    worst: float = 0.0  # error / bound, over the corpus at the end

    def add(self, took: float, cpu: float, executions: int, edges: int, features: int) -> None:
        gained = max(0, features - self.features)
        rate = gained / took if took > 0 else 0.0
        # A first slice's features are mostly the seeds' own.
        self.news = rate if self.slices <= 1 else FORGETTING * self.news + (1 - FORGETTING) * rate
        self.seconds += took
        self.cpu += cpu
        self.executions += executions
        self.edges = max(self.edges, edges)
        self.features = max(self.features, features)
        self.slices += 1


def choose(shares: dict[str, Share], busy: set[str], turn: int) -> str | None:
    """The next driver; none when all are busy."""
    free = [name for name in shares if name not in busy]
    if not free:
        return None
    least = min(free, key=lambda name: (shares[name].seconds, name))
    if shares[least].slices == 0 or turn % EVERY == 0:
        return least
    return max(free, key=lambda name: (shares[name].news, -shares[name].seconds, name))


def slice_seconds(left: float, jobs: int, drivers: int, rounds: int = 3) -> int:
    """How long a slice is: several rounds over all drivers fit, and starting costs little beside running."""
    fair = left * jobs / max(1, drivers)
    return max(2, min(300, int(max(fair / rounds, min(0.75 * fair, SLICE_MIN)))))
