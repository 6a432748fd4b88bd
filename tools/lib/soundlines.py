"""Lines, goals and tables of tools/listen."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of a table: `words` as tools/listening/LineWords.swift has them, and what is wanted."""

    title: str
    words: str
    #: The least PESQ-WB.
    score: float | None = None
    #: The most delay from mouth to ear at the median, in ms.
    delay: float | None = None
    #: The same of its 95th percentile from the second second on.
    late: float | None = None
    #: The most delay at the median of the first and of the last minute, in ms.
    last_minute: float | None = None
    #: Speech is repeated until it lasts so long; once is enough otherwise.
    minutes: float | None = None
    #: Whether constants were chosen with its figures in sight (Benchmarks/README.md).
    tuned: bool = True

    @property
    def set(self):
        return "tuned on" if self.tuned else "held out"


@dataclasses.dataclass(frozen=True)
class Table:
    title: str
    #: Options of ListenCommand.
    options: str
    lines: list
    #: Whether constants were chosen with its voices.
    chosen: str
    #: Score goals in place of those of the lines, which then have no others; `None` keeps them.
    goals: dict | None = None

    def rows(self):
        if self.goals is None:
            return self.lines
        return [
            Line(line.title, line.words, score=self.goals.get(line.title), tuned=line.tuned)
            for line in self.lines
        ]


LINES = [
    Line("clean", "clean", 4.38, 65),
    Line("5 % random", "loss=5", 4.37),
    Line("10 % random", "loss=10", 4.25, 125),
    Line("20 % random", "loss=20", 3.85),
    Line("30 % random", "loss=30", 3.4),
    Line("10 % bursty (3)", "loss=10,burst=3", 3.8, 215),
    Line("20 % bursty (3)", "loss=20,burst=3", 3.3, 215),
    Line("jitter p95 50", "jitter95=50", 4.3, 150),
    Line("jitter p95 50, 10 % random", "jitter95=50,loss=10", 4.1, 170),
    Line("freeze 300 ms each 5 s", "freeze=300/5000", 4.0, 250),
    Line("jitter p95 20", "jitter95=20"),
    Line("jitter p95 100", "jitter95=100"),
    Line("spike 500 ms", "spike=500@20000"),
    Line("10 % bursty (6)", "loss=10,burst=6"),
    Line("2 % random", "loss=2"),
    Line("10 % random, RTT 150", "delay=75,loss=10"),
    Line("64 kbit/s", "rate=64,queue=300"),
]


def held_out(*arguments, **words):
    return Line(*arguments, **words, tuned=False)


#: Lines whose trouble has no rhythm and no known length. Those that tools/onsets has, too, were in
#: sight when constants of the redundancy were chosen (decision 0142), the stalls of 200 to 450 ms
#: when sound that is held was (0173, 0174), and two by which attempts were given up (0025, 0104).
IRREGULAR = [
    Line("stalls of 300 ms at random, mean 5 s", "stall=300/5000", 4.2, 330),
    Line("stalls of 200 ms at random, mean 3 s", "stall=200/3000"),
    Line("stalls of 450 ms at random, mean 8 s", "stall=450/8000"),
    Line("jitter Pareto p95 50, cut at 400", "pareto95=50,most=400", 4.0, 330),
    Line("jitter Pareto p95 30, cut at 250", "pareto95=30,most=250"),
    held_out("jitter Pareto p95 80, cut at 500", "pareto95=80,most=500"),
    Line("10 % in bursts of 8", "loss=10,burst=8", 3.6, 250),
    Line("10 % in spells of 60 ms", "loss=10,spell=60", 4.1, 250),
    Line("10 % in spells of 160 ms", "loss=10,spell=160"),
    held_out("40 % random", "loss=40", 3.4, 250),
    held_out("10 % random, RTT 8", "delay=4,loss=10", 4.35, 65),
    held_out("5 % random, RTT 16", "delay=8,loss=5"),
    Line("40 kbit/s, queue of 300 ms", "rate=40,queue=300", 3.9, late=150),
    held_out("Wi-Fi: 100 ms each 1 s, 2 %", "freeze=100/1000,loss=2", 4.4, 170),
    held_out(
        "Wi-Fi: the same for 10 min",
        "freeze=100/1000,loss=2",
        4.4,
        170,
        last_minute=170,
        minutes=10,
    ),
    held_out("Wi-Fi: 70 ms at random, mean 1.5 s, 1 %", "stall=70/1500,loss=1"),
]
ADAPT = "--adapt --nack"
TABLES = {
    "adaptive": Table(
        "As calls are made: 32 kbit/s of speech, copies and requests by report",
        ADAPT,
        LINES,
        "tuned on",
    ),
    "payload48": Table(
        "All payload within 48 kbit/s",
        ADAPT + " --payload 48000",
        LINES,
        "tuned on",
        {"10 % random": 4.0},
    ),
    # Decisions 0020, 0025 and 0029 compared candidates with these voices.
    "others": Table("As calls are made, other voices", ADAPT, LINES, "tuned on"),
    "irregular": Table(
        "As calls are made, over lines whose trouble has no rhythm", ADAPT, IRREGULAR, "tuned on"
    ),
    "plain": Table("Nothing but the receiver: no copies, no requests", "", LINES, "tuned on", {}),
}
FRESH = Table(
    "As calls are made, over lines and with voices that were drawn for the run",
    ADAPT,
    [],
    "held out",
)
