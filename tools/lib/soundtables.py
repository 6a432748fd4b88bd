"""The pages of tools/listen, from the runs that are kept beside them: no run is needed to render one."""

import json
import os

from seeds import Figure
from soundlines import FRESH, TABLES, Line

RULE = (
    "Mean and 95 % interval over the seeds. A goal is met where the unfavourable end of the interval "
    "meets it; in brackets, how many seeds meet it."
)
COLUMNS = (
    "line | set | PESQ-WB | worst seed | delay p50 | delay p95 | booked | concealed % | gap ms "
    "| clicks/min | payload kbit/s | wire kbit/s | goals"
)
#: Of a drawn line, where no goal is its own: ms at the median, and times the 32 kbit/s of speech.
FRESH_DELAY, FRESH_PAYLOAD = 250, 3 * 32


def head(columns):
    return f"| {columns} |\n|" + " --- |" * (columns.count("|") + 1)


def figure(rows, name, **goal):
    return Figure([row.get(name) for row in rows], **goal)


def goals_of(line, rows):
    """What is asked of a row, and whether it is met."""
    told = [
        figure(rows, "pesq_wb", least=line.score).verdict(),
        figure(rows, "delay_p50", most=line.delay).verdict(0, " ms"),
    ]
    if line.late is not None:
        told.append(
            "p95 from 1 s on " + figure(rows, "delay_p95_settled", most=line.late).verdict(0, " ms")
        )
    if line.last_minute is not None:
        for name in ("first", "last"):
            found = figure(rows, f"delay_{name}_minute", most=line.last_minute)
            told.append(f"{name} minute {found.verdict(0, ' ms')} at {found.text(0)}")
    return ", ".join(text for text in told if text)


def row_of(line, rows):
    scores = [row["pesq_wb"] for row in rows if row["pesq_wb"] is not None]
    # A line on the terminal has no table, and so no set.
    means = [
        f"{figure(rows, name).mean:.{digits}f}"
        for name, digits in (
            ("booked_ms", 0),
            ("concealed_percent", 2),
            ("gap_ms", 0),
            ("clicks_per_minute", 1),
            ("payload_kbps", 1),
            ("wire_kbps", 1),
        )
    ]
    return (
        f"| {line.title} | {line.set} | {figure(rows, 'pesq_wb').text()} "
        f"| {min(scores, default=float('nan')):.2f} | {figure(rows, 'delay_p50').text(0)} "
        f"| {figure(rows, 'delay_p95').text(0)} | {' | '.join(means)} | {goals_of(line, rows)} |"
    )


def table(lines, found):
    """Rows of the lines that were run."""
    rows = [row_of(line, found[line.title]) for line in lines if line.title in found]
    return "\n".join([head(COLUMNS), *rows])


def seeds_of(record):
    return min(len(rows) for rows in record["lines"].values())


def page(name, record, part=""):
    """The whole page of a table; `record` is what its .json holds."""
    if name == "fresh":
        return fresh_page(record)
    shape = TABLES[name]
    return (
        f"# {shape.title}\n\n`tools/listen --table {name}{part}`: {seeds_of(record)} seeds a cell; spoken: "
        f"{', '.join(record['spoken'])}; options: `{shape.options}`. {RULE} These voices are {shape.chosen}; "
        f"`set` is that of the line ([what that means](../README.md#how-a-call-sounds)).\n\n"
        f"{table(shape.rows(), record['lines'])}\n"
    )


# MARK: drawn lines

FRESH_COLUMNS = (
    "family | line | voice | PESQ-WB | clean | below clean | delay p50 | delay p95 | concealed % "
    "| payload kbit/s | goals"
)


def fresh_row(row):
    runs, line = row["runs"], Line("", "", delay=FRESH_DELAY)
    below = Figure([row["clean"] - run["pesq_wb"] for run in runs])
    payload = figure(runs, "payload_kbps", most=FRESH_PAYLOAD)
    return (
        f"| {row['family']} | `{row['words']}` | {row['voice']} | {figure(runs, 'pesq_wb').text()} "
        f"| {row['clean']:.2f} | {below.text()} | {figure(runs, 'delay_p50').text(0)} "
        f"| {figure(runs, 'delay_p95').text(0)} | {figure(runs, 'concealed_percent').mean:.2f} "
        f"| {payload.text(1)} | {goals_of(line, runs)}, {payload.verdict(0, ' kbit/s')} |"
    )


def fresh_table(record):
    return "\n".join([head(FRESH_COLUMNS), *map(fresh_row, record["rows"])])


def fresh_page(record):
    seeds = min(len(row["runs"]) for row in record["rows"])
    return (
        f"# {FRESH.title}\n\n`tools/listen --fresh --draw {record['draw']} --seeds {seeds}`: {seeds} seeds a row; "
        f"options: `{FRESH.options}`. Lines and voices are **held out**: both were drawn for this run "
        f"(`tools/lib/freshlines.py`). A made voice has less than people have on a clean line already, so `clean` "
        f"is that voice's score there and `below clean` what the line costs. {RULE}\n\n{fresh_table(record)}\n"
    )


# MARK: files


def write(folder, name, record, part=""):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{name}.json"), "w") as file:
        json.dump(record, file, indent=1)
    write_page(folder, name, record, part)


def write_page(folder, name, record, part=""):
    with open(os.path.join(folder, f"{name}.md"), "w") as file:
        file.write(page(name, record, part))


def render(folder, names):
    """Writes the pages anew from their runs; the names of those that were there."""
    done = []
    for name in names:
        path = os.path.join(folder, f"{name}.json")
        if not os.path.exists(path):
            continue
        with open(path) as file:
            record = json.load(file)
        if "spoken" not in record and "rows" not in record:
            raise ValueError(f"{path} is of an earlier tools/listen: run the table anew")
        write_page(folder, name, record)
        done.append(name)
    return done
