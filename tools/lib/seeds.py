"""A figure over several seeds, judged by the unfavourable end of its 95 % interval (Student's t), as
Tests/CongestionLab/SeedInterval.swift has it for the laboratory."""

import math

#: What Student's t does not exceed in 97.5 % of the cases, for 1 to 10 degrees of freedom.
EXACT = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228]


def quantile(freedom):
    """The same for more, by the expansion of Cornish and Fisher, right to 0.001."""
    if freedom <= len(EXACT):
        return EXACT[max(freedom, 1) - 1]
    inverse = 1 / freedom
    return 1.95996 + inverse * (2.3723 + inverse * (2.8225 + inverse * 2.5558))


class Figure:
    """Values of runs, `None` where a run never had it.

    `least` or `most` is the goal: the figure is met where the unfavourable end of the interval meets
    it and every run has the figure. A single run has no interval and is judged by itself.
    """

    def __init__(self, values, least=None, most=None):
        self.values, self.least, self.most = list(values), least, most

    @property
    def known(self):
        return [value for value in self.values if value is not None]

    @property
    def mean(self):
        return sum(self.known) / len(self.known) if self.known else math.nan

    @property
    def half(self):
        """Half the width of the interval; 0 where one run cannot tell."""
        known, count = self.known, len(self.known)
        if count < 2:
            return 0.0
        squares = sum((value - self.mean) ** 2 for value in known)
        return quantile(count - 1) * math.sqrt(squares / (count - 1) / count)

    @property
    def low(self):
        return self.mean - self.half

    @property
    def high(self):
        return self.mean + self.half

    @property
    def is_met(self):
        """`None` without a goal."""
        if self.least is None and self.most is None:
            return None
        if not self.values or len(self.known) < len(self.values):
            return False
        return self.meets(self.low, self.high)

    @property
    def share(self):
        """How many runs meet the goal by themselves."""
        return sum(self.meets(value, value) for value in self.known)

    def meets(self, low, high):
        return (self.least is None or low >= self.least) and (
            self.most is None or high <= self.most
        )

    def text(self, digits=2):
        """`4.37 ± 0.04`; without an interval where there is one run, or no difference."""
        if not self.known:
            return "never"
        mean = f"{self.mean:.{digits}f}"
        half = f"{self.half:.{digits}f}"
        text = mean if len(self.known) < 2 else f"{mean} ± {half}"
        missing = len(self.values) - len(self.known)
        return text + (f", {missing} never" if missing else "")

    def verdict(self, digits=2, unit=""):
        """`≥ 4.25 met (10 of 10)`: the goal, the judgement, and the share of runs."""
        if self.is_met is None:
            return ""
        goal = f"≥ {self.least:.{digits}f}" if self.least is not None else ""
        if self.most is not None:
            goal += f"{' and ' if goal else ''}≤ {self.most:.{digits}f}"
        word = "met" if self.is_met else "**missed**"
        return f"{goal}{unit} {word} ({self.share} of {len(self.values)})"


def ratio(new, old):
    """A `Figure` of new against old, run by run in turns; pairs with nothing old are left out."""
    return Figure([now / before for now, before in zip(new, old) if before])
