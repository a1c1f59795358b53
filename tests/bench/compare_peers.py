#!/usr/bin/python3
"""Runs tokenscope-cli and other engines' benchmark programs in turn on the same file and prints a table of the ratios.

    compare_peers.py MODEL.gguf --ours build/release/tokenscope-cli --peer llama.cpp=FOLDER --peer ik_llama.cpp=FOLDER

A tool for developers on a quiet machine, not part of the tests; it fetches and builds nothing. FOLDER holds the peer's
llama-bench, llama-batched-bench and llama-completion (or llama-cli). Measured are neighbouring pairs, every other one
with the peer first; the ratio of a row is the median over its pairs. With --json FILE the pairs are kept there, and a
later call with the same file, model, threads and --isa adds to them: a long comparison can be done in short calls.
"""
import argparse
import datetime
import json
import pathlib
import platform
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peer_programs  # noqa: E402
import peer_statistics  # noqa: E402
from peer_programs import Failure  # noqa: E402

STEP_ROWS = 4
CONTEXT = 4096
CONTEXT_OUTPUT = 32  # tokens generated there: a peer reads 4,096 tokens before, the longer part by far
SEQUENCES = (8, 32)
COLD_PROMPT = 32


def row_table(options, cold_prompt):
    """name: (title, unit, better, measure(program) → {key: value}); several keys share one run of a program."""
    output = options.tokens
    table = {
        "prompt": ("prompt of 512", "tokens/s", "higher", lambda p: {"": p.speed(512, 0)}),
        "generation": (f"generation of {output}", "tokens/s", "higher", lambda p: {"": p.speed(0, output)}),
        "rows": (f"step of {STEP_ROWS} rows over one of 1", "×", "lower",
                 lambda p: {"": p.step_ratio(STEP_ROWS)}),
        "sequences": ("sequences, prompts of 64", "tokens/s", "higher",
                      lambda p: {str(k): v for k, v in p.sequences(SEQUENCES, 64, 32).items()}),
        "context": (f"generation at a context of {CONTEXT}", "tokens/s", "higher",
                    lambda p: {"": p.speed(0, CONTEXT_OUTPUT, CONTEXT)}),
        "cold": (f"cold process to first token, prompt of {COLD_PROMPT}", "s", "lower",
                 lambda p: {"": p.first_token_s(cold_prompt())}),
        "memory": (f"peak resident memory, 512 + {output}", "MiB", "lower",
                   lambda p: {"": p.peak_bytes(512, output) / 2**20}),
    }
    return table


ROW_NAMES = ("prompt", "generation", "rows", "sequences", "context", "cold", "memory")


def share_of_limit(ceilings, row, speed):
    if ceilings is None:
        return None
    if row == "prompt":
        return ceilings.prompt_share(speed)
    if row == "generation":
        return ceilings.generation_share(speed)
    if row == "context":
        return ceilings.generation_share(speed, CONTEXT)
    return None


def cpu_name():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.machine()


def arguments(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--ours", required=True, metavar="PATH", help="tokenscope-cli")
    parser.add_argument("--peer", required=True, action="append", metavar="NAME=FOLDER", help="may be repeated")
    parser.add_argument("--isa", default="", help="of ours: scalar, avx2, avx512 or neon [the widest]")
    parser.add_argument("--threads", type=int, default=2, help="of all [2]")
    parser.add_argument("--pairs", type=int, default=15, help="neighbouring pairs a row and peer [15]")
    parser.add_argument("--rows", default=",".join(ROW_NAMES), help=f"which, with commas [{','.join(ROW_NAMES)}]")
    parser.add_argument("--tokens", type=int, default=128, help="generated, for rows generation and memory [128]")
    parser.add_argument("--seconds", type=float, help="starts no further pair after so long; the rest by a later call")
    parser.add_argument("--json", metavar="FILE", help="where the pairs are kept and added to")
    options = parser.parse_args(argv)
    options.rows = [name for name in options.rows.split(",") if name]
    unknown = [name for name in options.rows if name not in ROW_NAMES]
    if unknown:
        parser.error(f"--rows {','.join(unknown)}: expected some of {','.join(ROW_NAMES)}")
    if not 1 <= options.pairs <= 1000 or not 1 <= options.tokens <= 4096 or not 1 <= options.threads <= 1024:
        parser.error("expected --pairs 1 to 1000, --tokens 1 to 4096, --threads 1 to 1024")
    options.peer = [text.partition("=") for text in options.peer]
    if any(not name or not folder for name, _, folder in options.peer):
        parser.error("--peer: expected NAME=FOLDER")
    if not pathlib.Path(options.model).is_file():
        parser.error(f"{options.model}: no such file")
    return options


class Store:
    """Pairs measured so far, under (row, key, peer): in memory, and in --json's file after every pair."""

    def __init__(self, path, setup):
        self.path = pathlib.Path(path) if path else None
        self.setup = setup
        self.pairs = {}
        if self.path and self.path.is_file():
            try:
                kept = json.loads(self.path.read_text())
                old = kept["setup"]
                rows = kept["rows"]
                self.pairs = {(r["row"], r["key"], r["peer"]): [tuple(p) for p in r["values"]] for r in rows}
            except (ValueError, KeyError, TypeError) as error:
                raise Failure(f"--json {path}: not a file of this program ({error}); give another name") from error
            for key, value in setup.items():
                if key in old and old[key] != value and key not in ("date", "limits", "versions"):
                    raise Failure(f"--json {path}: measured with {key} {old[key]}, now {value}; give another name")
            self.setup["versions"] = {**old.get("versions", {}), **setup["versions"]}
            for name, version in setup["versions"].items():
                if old.get("versions", {}).get(name, version) != version:
                    raise Failure(f"--json {path}: measured with another version of {name}; give another name")
            self.setup["limits"] = {key: old["limits"][key] + value for key, value in setup["limits"].items()}

    def add(self, row, key, peer, pair):
        self.pairs.setdefault((row, key, peer), []).append(pair)

    def count(self, row, peer):
        counts = [len(pairs) for (r, _, p), pairs in self.pairs.items() if (r, p) == (row, peer)]
        return min(counts, default=0)

    def document(self, table, ceilings):
        rows = []
        for (row, key, peer), pairs in self.pairs.items():
            title, unit, better, _ = table[row]
            summed = peer_statistics.summary(pairs)
            rows.append({"row": row, "key": key, "title": f"{key} {title}".strip(), "unit": unit, "better": better,
                         "peer": peer, **summed,
                         "share_of_limit": share_of_limit(ceilings, row, summed["ours_median"]),
                         "peer_share_of_limit": share_of_limit(ceilings, row, summed["peer_median"]),
                         "values": pairs})
        order = {name: i for i, name in enumerate(ROW_NAMES)}
        rows.sort(key=lambda r: (order[r["row"]], int(r["key"] or 0), r["peer"]))
        return {"setup": self.setup, "rows": rows}

    def write(self, table, ceilings):
        if self.path:
            self.path.write_text(json.dumps(self.document(table, ceilings), indent=1) + "\n")


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def percent(share):
    return f"{100 * share:.0f} %" if share is not None else ""


def markdown(document):
    setup = document["setup"]
    lines = [f"{setup['model']} ({setup['model_bytes']:,} bytes), {setup['threads']} threads, {setup['date']}",
             f"{setup['cpu']}; ours with {setup['isa']}"]
    lines += [f"{name}: {version}" for name, version in setup["versions"].items()]
    for key, unit, scale, what in (("read_bandwidth_bytes_per_s", "GB/s", 1e-9, "read"),
                                   ("int8_macs_per_s", "G/s", 1e-9, "8-bit products")):
        readings = [reading * scale for reading in setup["limits"][key]]
        if readings:
            lines.append(f"limit, {what}: {statistics.median(readings):.1f} {unit}, median of {len(readings)} readings "
                         f"({min(readings):.1f} … {max(readings):.1f})")
    lines += ["", "| Work | unit | better | ours | peer | value | ours / peer | interval (confidence) | pairs | "
              "of the limit: ours | peer |", "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in document["rows"]:
        interval = ""
        if "ratio_interval" in row:
            low, high = row["ratio_interval"]
            interval = f"{low:.2f} … {high:.2f} ({100 * row['ratio_confidence']:.1f} %)"
        lines.append(f"| {row['title']} | {row['unit']} | {row['better']} | {number(row['ours_median'])} | {row['peer']} "
                     f"| {number(row['peer_median'])} | {row['ratio_median']:.2f} | {interval} | {row['pairs']} "
                     f"| {percent(row['share_of_limit'])} | {percent(row['peer_share_of_limit'])} |")
    return "\n".join(lines)


def measure_row(store, name, table, ceilings, ours, peer, options, deadline):
    measure = table[name][3]
    while store.count(name, peer.name) < options.pairs:
        if deadline is not None and time.monotonic() > deadline:
            raise Failure(f"--seconds {options.seconds:g} is over: "
                          f"{store.count(name, peer.name)} of {options.pairs} pairs")
        index = store.count(name, peer.name)
        print(f"{name}, {peer.name}: pair {index + 1} of {options.pairs}", file=sys.stderr)
        if peer_statistics.ours_first(index):
            mine = measure(ours)
            theirs = measure(peer)
        else:
            theirs = measure(peer)
            mine = measure(ours)
        keys = mine.keys() & theirs.keys()
        if not keys or mine.keys() != theirs.keys():
            raise Failure(f"ours printed rows {sorted(mine)}, {peer.name} {sorted(theirs)}")
        for key in keys:
            store.add(name, key, peer.name, (mine[key], theirs[key]))
        store.write(table, ceilings)


def compare(options):
    deadline = time.monotonic() + options.seconds if options.seconds is not None else None
    model = pathlib.Path(options.model).resolve()
    ours = peer_programs.Ours(options.ours, model, options.threads, options.isa)
    peers = [peer_programs.Peer(name, folder, model, options.threads) for name, _, folder in options.peer]
    inspect = ours.document("inspect", model)
    with model.open("rb") as file:  # into the page cache, so that no program's first run reads the disk
        while file.read(1 << 24):
            pass
    system = ours.document("system", "--remeasure")
    isas = system.get("isa") or []
    isa = options.isa or (isas[-1] if isas else "the default instruction set")
    # The 8-bit peak is that of the widest instruction set; with a narrower one a share of it would say nothing.
    if isas and isa != isas[-1]:
        system["int8_macs_per_s"] = None
    # One reading a call: what a shared machine allows changes by the minute, and a single best minute is no ceiling
    # for measurements of all the others. Shares are of the readings' median.
    limits = {key: [system[key]] if system.get(key) else [] for key in ("read_bandwidth_bytes_per_s", "int8_macs_per_s")}
    versions = {"ours": ours.version(), **{peer.name: peer.version() for peer in peers}}
    setup = {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"), "cpu": cpu_name(),
             "isa": isa, "threads": options.threads, "model": model.name, "model_bytes": model.stat().st_size,
             "tokens": options.tokens, "versions": versions, "limits": limits}
    store = Store(options.json, setup)
    ceilings = peer_statistics.Ceilings(inspect, {key: statistics.median(readings) if readings else None
                                                  for key, readings in store.setup["limits"].items()})

    prompt = []

    def cold_prompt():
        if not prompt:
            prompt.append(ours.prompt_of(COLD_PROMPT))
        return prompt[0]

    table = row_table(options, cold_prompt)
    missed = []
    for name in options.rows:
        if name == "cold":
            cold_prompt()
        for peer in peers:
            try:
                measure_row(store, name, table, ceilings, ours, peer, options, deadline)
            except Failure as failure:
                missed.append(f"{name}, {peer.name}: {failure}")
    print(markdown(store.document(table, ceilings)))
    for sentence in missed:
        print(f"not measured in full: {sentence}", file=sys.stderr)
    return 1 if missed else 0


def main(argv):
    options = arguments(argv)
    try:
        return compare(options)
    except Failure as failure:
        print(f"compare_peers.py: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
