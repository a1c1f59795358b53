"""What compare_peers.py computes, and what it says when a program or an option is missing. No timing is asserted."""
import contextlib
import io
import json
import os
import pathlib
import stat
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import compare_peers  # noqa: E402
import peer_programs  # noqa: E402
import peer_statistics  # noqa: E402


class MedianInterval(unittest.TestCase):
    def test_fifteen_values_give_the_fourth_from_either_end(self):
        low, high, confidence = peer_statistics.median_interval(range(1, 16))
        self.assertEqual((low, high), (4, 12))
        # 1 − 2 · (C(15,0) + C(15,1) + C(15,2) + C(15,3)) / 2^15
        self.assertAlmostEqual(confidence, 1 - 2 * 576 / 32768)

    def test_six_values_just_reach_95_percent_with_all_of_them(self):
        self.assertEqual(peer_statistics.median_interval([6, 5, 4, 3, 2, 1]), (1, 6, 1 - 2 / 64))

    def test_fewer_values_say_their_lower_confidence(self):
        self.assertEqual(peer_statistics.median_interval([3.0, 1.0, 2.0]), (1.0, 3.0, 0.75))

    def test_one_value_has_no_interval(self):
        with self.assertRaises(ValueError):
            peer_statistics.median_interval([1.0])
        self.assertNotIn("ratio_interval", peer_statistics.summary([(2.0, 1.0)]))

    def test_confidence_is_never_below_the_wanted_one_from_six_values_on(self):
        for count in range(6, 200):
            self.assertGreaterEqual(peer_statistics.median_interval(range(count))[2], 0.95, count)


class Summary(unittest.TestCase):
    def test_the_median_is_of_the_ratios_not_the_ratio_of_the_medians(self):
        summed = peer_statistics.summary([(1.0, 1.0), (2.0, 4.0), (9.0, 3.0)])
        self.assertEqual(summed["ours_median"], 2.0)
        self.assertEqual(summed["peer_median"], 3.0)
        self.assertEqual(summed["ratio_median"], 1.0)  # of 1, 0.5 and 3
        self.assertEqual(summed["pairs"], 3)

    def test_the_order_alternates(self):
        self.assertEqual([peer_statistics.ours_first(i) for i in range(4)], [True, False, True, False])


class Shares(unittest.TestCase):
    INSPECT = {
        "architecture": "llama",
        "metadata": {"llama.block_count": 2, "llama.attention.head_count": 4, "llama.attention.head_count_kv": 2,
                     "llama.embedding_length": 64},
        "tensors": [
            {"name": "token_embd.weight", "shape": [64, 100], "bytes": 6800},
            {"name": "blk.0.attn_q.weight", "shape": [64, 64], "bytes": 2560},
            {"name": "blk.0.attn_norm.weight", "shape": [64], "bytes": 256},
        ],
    }
    SYSTEM = {"read_bandwidth_bytes_per_s": 936000.0, "int8_macs_per_s": 4096000.0}

    def test_a_prompt_is_measured_by_products_of_the_layers_matrices(self):
        ceilings = peer_statistics.Ceilings(self.INSPECT, self.SYSTEM)
        self.assertEqual(ceilings.prompt_share(500.0), 0.5)

    def test_generation_reads_a_tied_head_once(self):
        ceilings = peer_statistics.Ceilings(self.INSPECT, self.SYSTEM)
        self.assertEqual(ceilings.token_bytes, 6800 + 2560)
        self.assertAlmostEqual(ceilings.generation_share(50.0), 0.5)

    def test_a_head_of_its_own_replaces_the_table(self):
        tensors = self.INSPECT["tensors"] + [{"name": "output.weight", "shape": [64, 100], "bytes": 1000}]
        ceilings = peer_statistics.Ceilings({**self.INSPECT, "tensors": tensors}, self.SYSTEM)
        self.assertEqual(ceilings.token_bytes, 1000 + 2560)

    def test_a_context_adds_keys_and_values(self):
        ceilings = peer_statistics.Ceilings(self.INSPECT, self.SYSTEM)
        self.assertEqual(ceilings.cache_bytes, 2 * 2 * (16 + 16) * 2)
        self.assertAlmostEqual(ceilings.generation_share(10.0, 100), 10 * (9360 + 100 * 256) / 936000)

    def test_windows_and_unknown_limits_have_no_share(self):
        windowed = {**self.INSPECT, "metadata": {**self.INSPECT["metadata"], "llama.attention.sliding_window": 512}}
        self.assertIsNone(peer_statistics.Ceilings(windowed, self.SYSTEM).generation_share(10.0, 100))
        unknown = peer_statistics.Ceilings(self.INSPECT, {})
        self.assertIsNone(unknown.prompt_share(1.0))
        self.assertIsNone(unknown.generation_share(1.0))


class Parsing(unittest.TestCase):
    def test_batched_rows_come_from_json_lines_arrays_and_tables_alike(self):
        lines = 'main: n_kv_max\n{"pl": 1, "speed_tg": 10.5}\n{"pl": 4, "speed_tg": 20}\n'
        array = '[{"pl": 1, "speed_tg": 10.5}, {"pl": 4, "speed_tg": 20}]'
        table = ("|    PP |     TG |    B |   S_TG t/s |\n|-------|--------|------|----------|\n"
                 "|    64 |      8 |    1 |      10.50 |\n|    64 |      8 |    4 |      20.00 |\n\nother | text\n")
        for text in (lines, array, table):
            self.assertEqual(peer_programs.batched_rows(text), {1: 10.5, 4: 20.0})

    def test_a_row_without_a_speed_is_refused(self):
        with self.assertRaisesRegex(peer_programs.Failure, "expected one row with avg_ts, found 2"):
            peer_programs.speed_of([{"avg_ts": 1}, {"avg_ts": 2}], "x")


# A stand-in for every program of both sides: the number printed is that in the file `speed` beside it.
FAKE = """#!/usr/bin/python3
import json, pathlib, sys
speed = float((pathlib.Path(sys.argv[0]).parent / "speed").read_text())
a = sys.argv[1:]
if "--help" in a:
    print("%s")
elif "--version" in a:
    print("version: 7")
elif a[0] == "inspect":
    print(json.dumps({"architecture": "llama", "metadata": {}, "tensors": [
        {"name": "blk.0.attn_q.weight", "shape": [10, 10], "bytes": 100}]}))
elif a[0] == "system":
    print(json.dumps({"isa": ["scalar", "avx2"], "read_bandwidth_bytes_per_s": 1000000, "int8_macs_per_s": 1000000}))
elif a[0] == "tokenize":
    print(json.dumps({"ids": a[a.index("--text") + 1].split()}))
elif "--rows" in a:
    sys.exit("tokenscope-cli: --rows: not available in this build")
else:
    print(json.dumps([{"avg_ts": speed}]))
"""


class WholeRuns(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.folder / "model.gguf"
        self.model.write_bytes(b"GGUF")
        for name, speed in (("ours", 30), ("peer", 20)):
            (self.folder / name).mkdir()
            (self.folder / name / "speed").write_text(str(speed))
        self.program("ours/tokenscope-cli")
        self.program("peer/llama-bench")
        self.program("peer/llama-completion")

    def program(self, path, help_text="-d, --n-depth <n>"):
        file = self.folder / path
        file.write_text(FAKE % help_text)
        file.chmod(file.stat().st_mode | stat.S_IXUSR)

    def compare(self, *options):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = compare_peers.main([str(self.model), "--ours", str(self.folder / "ours/tokenscope-cli"), "--peer",
                                       f"other={self.folder / 'peer'}", *options])
        return code, out.getvalue(), err.getvalue()

    def test_pairs_become_a_table_and_a_document(self):
        file = self.folder / "pairs.json"
        code, table, _ = self.compare("--rows", "prompt,context,cold,memory", "--pairs", "3", "--json", str(file))
        self.assertEqual(code, 0)
        self.assertIn("| prompt of 512 | tokens/s | higher | 30 | other | 20 | 1.50 | 1.50 … 1.50 (75.0 %) | 3 ", table)
        rows = {row["row"]: row for row in json.loads(file.read_text())["rows"]}
        self.assertEqual(list(rows), ["prompt", "context", "cold", "memory"])
        self.assertEqual(rows["prompt"]["ratio_median"], 1.5)
        self.assertAlmostEqual(rows["prompt"]["share_of_limit"], 30 * 100 / 1e6)
        self.assertGreater(rows["memory"]["peer_median"], 0)

    def test_a_later_call_adds_pairs_but_not_of_another_setting(self):
        file = str(self.folder / "pairs.json")
        self.assertEqual(self.compare("--rows", "prompt", "--pairs", "1", "--json", file)[0], 0)
        (self.folder / "ours/speed").write_text("40")
        self.assertEqual(self.compare("--rows", "prompt", "--pairs", "3", "--json", file)[0], 0)
        values = json.loads(pathlib.Path(file).read_text())["rows"][0]["values"]
        self.assertEqual(values, [[30, 20], [40, 20], [40, 20]])
        readings = json.loads(pathlib.Path(file).read_text())["setup"]["limits"]["read_bandwidth_bytes_per_s"]
        self.assertEqual(readings, [1000000, 1000000])  # one a call
        code, _, err = self.compare("--rows", "prompt", "--threads", "1", "--json", file)
        self.assertEqual(code, 2)
        self.assertIn("measured with threads 2, now 1", err)

    def test_time_that_is_over_leaves_the_rest_to_a_later_call(self):
        code, _, err = self.compare("--rows", "prompt", "--pairs", "3", "--seconds", "0")
        self.assertEqual(code, 1)
        self.assertIn("--seconds 0 is over: 0 of 3 pairs", err)

    def test_a_missing_program_costs_its_row_alone(self):
        code, table, err = self.compare("--rows", "sequences,prompt", "--pairs", "1")
        self.assertEqual(code, 1)
        self.assertIn("| prompt of 512 |", table)
        self.assertIn("other: the folder given has no llama-batched-bench; build it there", err)

    def test_an_option_of_ours_that_is_missing_is_named(self):
        code, _, err = self.compare("--rows", "rows", "--pairs", "1")
        self.assertEqual(code, 1)
        self.assertIn("--rows: not available in this build", err)

    def test_a_peer_that_knows_no_depth_is_named(self):
        self.program("peer/llama-bench", "nothing")
        code, _, err = self.compare("--rows", "context", "--pairs", "1")
        self.assertEqual(code, 1)
        self.assertIn("has neither -d nor -gp", err)

    def test_wrong_paths_and_rows_are_refused_in_a_sentence(self):
        os.remove(self.folder / "ours/tokenscope-cli")
        code, _, err = self.compare("--rows", "prompt")
        self.assertEqual(code, 2)
        self.assertIn("build the target tokenscope-cli", err)
        with self.assertRaises(SystemExit) as refused, contextlib.redirect_stderr(io.StringIO()) as said:
            compare_peers.main([str(self.model), "--ours", "x", "--peer", "a=b", "--rows", "speed"])
        self.assertEqual(refused.exception.code, 2)
        self.assertIn("--rows speed: expected some of prompt", said.getvalue())


if __name__ == "__main__":
    unittest.main()
