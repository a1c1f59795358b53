"""Programs compare_peers.py runs, ours and a peer's: their options, and the numbers in what they print.

Each function of a program returns one measurement of the kind its row needs; `Failure` carries the sentence for people.
"""
import json
import os
import pathlib
import subprocess
import tempfile
import time

# Both sides get the same, so that neither sets up a longer cache; 4,096 is our default.
RUN_CONTEXT = 4096
STEPS = 32  # of each kind, where steps are compared


class Failure(Exception):
    pass


class Outcome:
    def __init__(self, stdout, stderr, seconds, peak_bytes):
        self.stdout, self.stderr, self.seconds, self.peak_bytes = stdout, stderr, seconds, peak_bytes


def run(command, time_limit=300):
    """Runs to the end; wall seconds and peak resident bytes are those of the whole process."""
    command = [str(part) for part in command]
    # In a folder of its own: some peers write logs where they stand.
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.monotonic()
        try:
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        except OSError as error:
            raise Failure(f"{command[0]} cannot be started: {error.strerror}") from error
        try:
            # WNOWAIT leaves the process to wait4(), which knows its memory.
            process_ended = _wait_for_end(process.pid, start + time_limit)
            if not process_ended:
                process.kill()
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        seconds = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        outcome = Outcome(out.read().decode(errors="replace"), err.read().decode(errors="replace"), seconds,
                          usage.ru_maxrss * 1024)  # kibibytes on Linux
    if not process_ended:
        raise Failure(f"{' '.join(command)}: not done after {time_limit} s")
    if process.returncode != 0:
        said = (outcome.stderr.strip() or outcome.stdout.strip() or "nothing").splitlines()[-1]
        raise Failure(f"{' '.join(command)}: exit code {process.returncode}, said: {said}")
    return outcome


def _wait_for_end(pid, deadline):
    """A descriptor of the process wakes at its end, so that its time has no polling error in it."""
    import select
    descriptor = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(max(0.0, deadline - time.monotonic()) * 1000))
    finally:
        os.close(descriptor)


def json_documents(text):
    """The documents in a JSON array, one JSON document, or lines of them; other lines are skipped."""
    try:
        whole = json.loads(text)
        return whole if isinstance(whole, list) else [whole]
    except json.JSONDecodeError:
        documents = []
        for line in text.splitlines():
            if line.startswith("{"):
                try:
                    documents.append(json.loads(line))
                except json.JSONDecodeError:
                    pass
        return documents


def batched_rows(text):
    """{sequences: generated tokens per second of all} of llama-batched-bench, from its JSON lines or its table."""
    rows = {int(d["pl"]): float(d["speed_tg"]) for d in json_documents(text) if "pl" in d and "speed_tg" in d}
    header = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if "S_TG t/s" in cells:
            header = cells
        elif header and len(cells) == len(header) and cells[0].isdigit():
            row = dict(zip(header, cells))
            rows[int(row["B"])] = float(row["S_TG t/s"])
    return rows


def speed_of(documents, name):
    if len(documents) != 1 or "avg_ts" not in documents[0]:
        raise Failure(f"{name}: expected one row with avg_ts, found {len(documents)}")
    return float(documents[0]["avg_ts"])


class Ours:
    def __init__(self, path, model, threads, isa):
        self.path, self.model = pathlib.Path(path).resolve(), model
        if not self.path.is_file():
            raise Failure(f"--ours {path}: no such file; build the target tokenscope-cli and give its path")
        self.options = ["--threads", threads] + (["--isa", isa] if isa else [])

    def _bench(self, *arguments, repetitions=1):
        command = [self.path, "bench", self.model, *arguments, "-r", repetitions, "-o", "json", "--no-save", "--quiet"]
        return run(command + self.options)

    def document(self, *arguments):
        return json_documents(run([self.path, *arguments, "--json"]).stdout)[0]

    def version(self):
        return run([self.path, "--version"]).stdout.strip()

    def speed(self, prompt, output, depth=0):
        documents = json_documents(self._bench("-p", prompt, "-n", output, "-d", depth).stdout)
        return speed_of(documents, "tokenscope-cli bench")

    def sequences(self, counts, prompt, output):
        listed = ",".join(map(str, counts))
        return batched_rows(self._bench("--sequences", listed, "-p", prompt, "-n", output).stdout)

    def step_ratio(self, rows):
        documents = json_documents(self._bench("--rows", f"1,{rows}", repetitions=STEPS).stdout)
        times = {d["n_rows"]: d["step_ms"] for d in documents if "step_ms" in d}
        if 1 not in times or rows not in times:
            raise Failure(f"tokenscope-cli bench --rows 1,{rows}: printed no step_ms for both")
        return times[rows] / times[1]

    def prompt_of(self, count):
        """Text of exactly `count` tokens where the model's words allow, BOS included where the model asks for one."""
        words = "Once upon a time there was a small river that ran through the old town and".split()
        text = ""
        for i in range(count):
            longer = (text + " " + words[i % len(words)]).strip()
            tokens = len(self.document("tokenize", self.model, "--bos", "--text", longer)["ids"])
            if tokens > count:
                break
            text = longer
            if tokens == count:
                break
        return text

    def first_token_s(self, prompt):
        return run([self.path, "run", self.model, "--prompt", prompt, "--max-tokens", 1, "--temp", 0, "--context",
                    RUN_CONTEXT, "--no-save", "--quiet", *self.options]).seconds

    def peak_bytes(self, prompt, output):
        return self._bench("-p", prompt, "-n", output).peak_bytes


class Peer:
    """A folder with llama.cpp's programs or a fork's. What a fork's options are called is read from its --help."""

    def __init__(self, name, folder, model, threads):
        self.name, self.folder, self.model, self.threads = name, pathlib.Path(folder).resolve(), model, threads
        if not self.folder.is_dir():
            raise Failure(f"--peer {name}={folder}: no such folder")
        self._helps = {}

    def _program(self, *names):
        for name in names:
            if (self.folder / name).is_file():
                return self.folder / name
        raise Failure(f"{self.name}: the folder given has no {' or '.join(names)}; build it there")

    def _help(self, program):
        if program not in self._helps:
            done = subprocess.run([program, "--help"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                                  check=False)  # some print their help and exit with 1
            self._helps[program] = (done.stdout + done.stderr).decode(errors="replace")
        return self._helps[program]

    def _bench(self, *arguments):
        return run([self._program("llama-bench"), "-m", self.model, "-t", self.threads, "-r", 1, "-o", "json",
                    *arguments])

    def version(self):
        program = self._program("llama-completion", "llama-cli", "llama-bench")
        done = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                              check=False)
        lines = (done.stdout + done.stderr).decode(errors="replace").splitlines()
        found = [line for line in lines if line.startswith("version")]
        return found[0] if found else "version unknown"

    def speed(self, prompt, output, depth=0):
        if depth == 0:
            arguments = ["-p", prompt, "-n", output]
        else:
            text = self._help(self._program("llama-bench"))
            if "--n-depth" in text:
                arguments = ["-p", prompt, "-n", output, "-d", depth]
            elif "-gp <" in text and prompt == 0:
                arguments = ["-p", 0, "-n", 0, "-gp", f"{depth},{output}"]
            else:
                raise Failure(f"{self.name}: its llama-bench has neither -d nor -gp, so no speed at a context")
        documents = json_documents(self._bench(*arguments).stdout)
        return speed_of(documents, f"{self.name} llama-bench")

    def sequences(self, counts, prompt, output):
        program = self._program("llama-batched-bench")
        context = max(counts) * (prompt + output)
        command = [program, "-m", self.model, "-t", self.threads, "-c", context, "-npp", prompt, "-ntg", output,
                   "-npl", ",".join(map(str, counts))]
        done = run(command)
        return batched_rows(done.stdout + "\n" + done.stderr)  # ik_llama.cpp's table goes with its log

    def step_ratio(self, rows):
        """A step of `rows` sequences over one of a single sequence: the nearest their programs measure."""
        speeds = self.sequences([1, rows], 16, STEPS)
        if 1 not in speeds or rows not in speeds:
            raise Failure(f"{self.name} llama-batched-bench: printed no speed for 1 and {rows} sequences")
        return rows * speeds[1] / speeds[rows]

    def first_token_s(self, prompt):
        program = self._program("llama-completion", "llama-cli")
        text = self._help(program)
        # Without its warming-up run, which only delays the first token: the peer at its best.
        extra = [option for option in ("-no-cnv", "--no-warmup", "--no-display-prompt") if option in text]
        return run([program, "-m", self.model, "-t", self.threads, "-p", prompt, "-n", 1, "--temp", 0, "-c",
                    RUN_CONTEXT, *extra]).seconds

    def peak_bytes(self, prompt, output):
        return self._bench("-p", prompt, "-n", output).peak_bytes
