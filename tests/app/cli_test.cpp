// The command line as a program: what it prints where, and how it ends. On small generated models.
#include "kernels/cpu/cpu_backend.h"
#include "storage/database.h"
#include "tests/support/child_process.h"
#include "tests/support/temp_folder.h"
#include "tests/support/test_data.h"
#include "tests/support/test_model.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace tokenscope {
namespace {

using nlohmann::json;

class CommandLineTest : public testing::Test {
protected:
    test::ChildResult cli(std::vector<std::string> arguments, test::ChildOptions options = {})
    {
        options.environment["XDG_DATA_HOME"] = folder.file("data").string();
        options.environment["XDG_CACHE_HOME"] = folder.file("cache").string();
        return test::runChild(TOKENSCOPE_CLI, arguments, options);
    }
    std::string model(test::TestModelSpec spec = {})
    {
        const std::string path = folder.file("model.gguf").string();
        test::makeTestModel(spec).write(path);
        return path;
    }
    std::string file(const std::string& name, const std::string& text)
    {
        std::ofstream(folder.file(name), std::ios::binary) << text;
        return folder.file(name).string();
    }
    static json document(const test::ChildResult& result)
    {
        const json parsed = json::parse(result.out, nullptr, false);
        EXPECT_FALSE(parsed.is_discarded()) << result.out << result.err;
        return parsed;
    }
    void expectRefused(const test::ChildResult& result, const std::string& word, int code = 2)
    {
        EXPECT_EQ(result.exitCode, code) << result.err;
        EXPECT_NE(result.err.find(word), std::string::npos) << result.err;
        EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << "one line: " << result.err;
    }

    test::TempFolder folder;
};

TEST_F(CommandLineTest, HelpAndVersionGoToStdoutAndSucceed)
{
    EXPECT_EQ(cli({"--version"}).out, "tokenscope-cli " TOKENSCOPE_VERSION "\n");
    for (const char* command :
         {"inspect", "tokenize", "render", "run", "chat", "perplexity", "bench", "runs", "system"}) {
        const auto help = cli({command, "--help"});
        EXPECT_EQ(help.exitCode, 0) << command;
        EXPECT_NE(help.out.find(command), std::string::npos);
        EXPECT_EQ(help.err, "");
    }
    EXPECT_NE(cli({"runs", "export", "--help"}).out.find("--with-text"), std::string::npos);
    EXPECT_NE(cli({"--help"}).out.find("perplexity"), std::string::npos);
}

TEST_F(CommandLineTest, WrongUseIsRefusedWithASentenceAndExitCodeTwo)
{
    const std::string path = model();
    expectRefused(cli({}), "--help");
    expectRefused(cli({"fly"}), "--help");
    expectRefused(cli({"run"}), "MODEL");
    expectRefused(cli({"run", path}), "--prompt");
    expectRefused(cli({"run", path, "--prompt", "a", "--ids", "1"}), "one of");
    expectRefused(cli({"run", path, "--ids", "1,x"}), "1,x");
    expectRefused(cli({"run", path, "--ids", ""}), "--ids");
    expectRefused(cli({"run", path, "--prompt", "a", "--wings", "2"}), "--wings");
    expectRefused(cli({"run", path, "--prompt", "a", "--temp", "hot"}), "--temp hot");
    expectRefused(cli({"run", path, "--prompt", "a", "--temp", "9"}), "0 to 5");
    expectRefused(cli({"run", path, "--prompt", "a", "--threads", "0"}), "--threads 0");
    expectRefused(cli({"run", path, "--prompt", "a", "--isa", "mmx"}), "avx2");
    for (const kernels::Isa isa : kernels::kAllIsas) {
        const auto& present = kernels::availableIsas();
        const std::string name(kernels::isaName(isa));
        if (std::find(present.begin(), present.end(), isa) == present.end())
            expectRefused(cli({"run", path, "--prompt", "a", "--isa", name}), "--isa " + name + ": this processor has");
    }
    expectRefused(cli({"run", path, "--prompt", "a", "--top-logits", "-1"}), "--top-logits");
    expectRefused(cli({"run", path, "--prompt", "a", "--log", "loud"}), "--log");
    expectRefused(cli({"run", folder.file("missing.gguf").string(), "--prompt", "a"}), "missing.gguf");
    expectRefused(cli({"run", path, "--prompt-file", folder.file("none.txt").string()}), "none.txt");
    expectRefused(cli({"bench", path, "-o", "xml"}), "xml");
    expectRefused(cli({"bench", path, "-r", "0"}), "-r 0");
    expectRefused(cli({"bench", path, "-p", "0", "-n", "0"}), "nothing");
    expectRefused(cli({"bench", path, "--sequences", "1,65"}), "--sequences 65: expected 1 to 64");
    expectRefused(cli({"bench", path, "--sequences", "2", "-n", "0"}), "-p and -n");
    expectRefused(cli({"bench", path, "--sequences", "2", "-d", "8"}), "-d");
    expectRefused(cli({"bench", path, "--rows", "0"}), "--rows 0");
    expectRefused(cli({"bench", path, "--rows", "x"}), "--rows x");
    expectRefused(cli({"bench", path, "--rows", "1", "--sequences", "1"}), "--sequences, --rows and --profile");
    expectRefused(cli({"bench", path, "--profile", "--rows", "1"}), "one of them at a time");
    expectRefused(cli({"bench", path, "--profile", "-p", "4,8"}), "--profile: give one -p");
    expectRefused(cli({"bench", path, "--profile", "--device", "reference"}), "--device cpu");
    expectRefused(cli({"bench", path, "--rows", "1", "-d", "64", "--context", "64"}), "--context 64");
    expectRefused(cli({"bench", path, "--rows", "1,2", "-o", "xml"}), "xml");
    expectRefused(cli({"perplexity", path, "--file", file("t", "text"), "--window", "1"}), "--window 1");
    expectRefused(cli({"tokenize", path}), "--text");
    expectRefused(cli({"runs", "show", "nothing"}), "nothing");
    expectRefused(cli({"runs", "list", "--limit", "0"}), "--limit");
}

TEST_F(CommandLineTest, WhatThisBuildLacksIsRefusedByName)
{
    const std::string path = model();
    for (const char* command : {"compare", "load", "report", "import", "plan", "serve"})
        expectRefused(cli({command, path, "--whatever", "x"}), std::string(command) + ": not available in this build");
    expectRefused(cli({"runs", "delete", "1"}), "runs delete: not available");
    const std::vector<std::pair<std::string, std::string>> options{
        {"--speculate", "ngram"},      {"--kv", "q8_0"},
        {"--kv-layout", "contiguous"}, {"--kv_layout", "contiguous"},
        {"--device", "cuda"},          {"--attention", "naive"},
        {"--batching", "static"},      {"--weights", "q8_0"},
        {"--deadline", "3"},           {"--logit-bias", "1=2"},
        {"--prefix-cache", "shared"}};
    for (const auto& [option, value] : options)
        expectRefused(cli({"run", path, "--prompt", "a", option, value}), "not available in this build");
    expectRefused(cli({"bench", path, "--techniques"}), "--techniques: not available");
    expectRefused(cli({"bench", path, "--pg", "1,2"}), "--pg: not available");
    expectRefused(cli({"perplexity", path, "--file", "x", "--against", "kv=f32"}), "--against: not available");
}

TEST_F(CommandLineTest, AnErrorWithJsonIsADocumentToo)
{
    const auto result = cli({"run", folder.file("missing.gguf").string(), "--prompt", "a", "--json"});
    EXPECT_EQ(result.exitCode, 2);
    const json error = document(result)["error"];
    EXPECT_EQ(error["code"], "file_access");
    EXPECT_NE(error["message"].get<std::string>().find("missing.gguf"), std::string::npos);
    EXPECT_TRUE(error.contains("detail"));
    EXPECT_EQ(document(cli({"run", "--json"}))["error"]["code"], "bad_setting");
}

TEST_F(CommandLineTest, RunStreamsTheTextAndPutsTheNumbersOnStderr)
{
    const auto result = cli({"run", model(), "--prompt", "abc", "--temp", "0", "--max-tokens", "5", "--ignore-eos"});
    EXPECT_EQ(result.exitCode, 0) << result.err;
    EXPECT_NE(result.err.find("TTFT"), std::string::npos);
    EXPECT_NE(result.err.find("run 1"), std::string::npos);
    EXPECT_EQ(result.out.find("TTFT"), std::string::npos);
    const auto quiet =
        cli({"run", model(), "--prompt", "abc", "--temp", "0", "--max-tokens", "5", "--ignore-eos", "--quiet"});
    EXPECT_EQ(quiet.err, "");
    EXPECT_EQ(quiet.out, result.out);
}

TEST_F(CommandLineTest, RunJsonHasEveryFieldAndTheRunIsStored)
{
    const auto result = cli({"run", model(), "--ids", "65, 66,67", "--temp", "0", "--max-tokens", "4", "--ignore-eos",
                             "--top-logits", "2", "--seed", "7", "--json"});
    ASSERT_EQ(result.exitCode, 0) << result.err;
    const json run = document(result);
    for (const char* field : {"path", "name", "architecture", "sha256", "file_bytes", "parameters"})
        EXPECT_TRUE(run["model"].contains(field)) << field;
    EXPECT_EQ(run["model"]["sha256"].get<std::string>().size(), 64u);
    EXPECT_EQ(run["prompt_ids"], json({65, 66, 67}));
    EXPECT_EQ(run["output_ids"].size(), 4u);
    EXPECT_EQ(run["stop_reason"], "length");
    ASSERT_EQ(run["top_logits"].size(), 4u);
    EXPECT_EQ(run["top_logits"][0].size(), 2u);
    EXPECT_EQ(run["top_logits"][0][0][0], run["output_ids"][0]) << "greedy takes the largest";
    for (const char* field : {"load_ms",
                              "tokenize_ms",
                              "queue_ms",
                              "prefill_ms",
                              "first_sample_ms",
                              "ttft_ms",
                              "tpot_ms",
                              "itl_ms",
                              "e2e_ms",
                              "normalised_latency_ms",
                              "prompt_tokens",
                              "cached_tokens",
                              "output_tokens",
                              "prefill_tokens_per_s",
                              "decode_tokens_per_s",
                              "kv_bytes",
                              "kv_blocks",
                              "mbu",
                              "mfu",
                              "peak_rss_bytes",
                              "drafted_tokens",
                              "accepted_tokens"})
        EXPECT_TRUE(run["metrics"].contains(field)) << field;
    EXPECT_EQ(run["metrics"]["itl_ms"].size(), 3u);
    EXPECT_EQ(run["metrics"]["prompt_tokens"], 3);
    EXPECT_EQ(run["config"]["temp"], 0.0);
    EXPECT_EQ(run["config"]["seed"], 7);
    EXPECT_EQ(run["config"]["kv_layout"], "paged");
    EXPECT_TRUE(run["config"]["threads"].is_number());
    for (const char* field : {"version", "cpu", "isa", "threads", "os", "gpu"})
        EXPECT_TRUE(run["environment"].contains(field)) << field;
    EXPECT_EQ(run["run_id"], "1");

    const json stored = document(cli({"runs", "show", "last", "--json"}));
    EXPECT_EQ(stored["top_logits"], run["top_logits"]);
    EXPECT_EQ(stored["output_ids"], run["output_ids"]);
    EXPECT_EQ(stored["text"], run["text"]);
    EXPECT_EQ(stored["metrics"], run["metrics"]);
    EXPECT_EQ(stored["model"], run["model"]);
    EXPECT_EQ(stored["stop_reason"], "length");
    EXPECT_EQ(stored["events"]["tokens"].size(), 4u);
    const json list = document(cli({"runs", "list", "--json"}));
    ASSERT_EQ(list["runs"].size(), 1u);
    EXPECT_EQ(list["runs"][0]["id"], "1");
    EXPECT_EQ(list["runs"][0]["kind"], "run");
}

TEST_F(CommandLineTest, AOneTokenAnswerHasNoTpotAndNoGap)
{
    const json run =
        document(cli({"run", model(), "--ids", "65", "--temp", "0", "--max-tokens", "1", "--json", "--no-save"}));
    EXPECT_TRUE(run["metrics"]["tpot_ms"].is_null());
    EXPECT_TRUE(run["metrics"]["itl_ms"].empty());
    EXPECT_TRUE(run["metrics"]["ttft_ms"].is_number());
    EXPECT_TRUE(run["run_id"].is_null());
    EXPECT_FALSE(std::filesystem::exists(folder.file("data") / "tokenscope"));
}

TEST_F(CommandLineTest, SeveralAnswersAreListedAndSetsOfSeedsRepeat)
{
    const std::vector<std::string> arguments{"run",     model(), "--ids",        "65,66", "--seed",       "3",
                                             "--batch", "3",     "--max-tokens", "6",     "--ignore-eos", "--json"};
    const json first = document(cli(arguments));
    ASSERT_EQ(first["answers"].size(), 3u);
    EXPECT_FALSE(first.contains("output_ids"));
    EXPECT_NE(first["answers"][0]["output_ids"], first["answers"][1]["output_ids"]);
    const json second = document(cli(arguments));
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(first["answers"][i]["output_ids"], second["answers"][i]["output_ids"]);
}

TEST_F(CommandLineTest, APromptThatDoesNotFitIsASentence)
{
    const auto result = cli({"run", model(), "--prompt", std::string(200, 'x'), "--context", "64"});
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_NE(result.err.find("64"), std::string::npos) << result.err;
}

TEST_F(CommandLineTest, AnInterruptEndsWith130AndKeepsThePartialAnswer)
{
    test::ChildOptions options;
    options.interruptAfter = "\xef\xbf\xbd";  // bytes that are no characters are sure to come from random weights
    test::TestModelSpec spec;
    spec.context = 8192;
    const auto result = cli(
        {"run", model(spec), "--ids", "65", "--ignore-eos", "--max-tokens", "8000", "--seed", "1", "--context", "8192"},
        options);
    EXPECT_EQ(result.exitCode, 130) << result.err;
    const json stored = document(cli({"runs", "show", "last", "--json"}));
    EXPECT_EQ(stored["stop_reason"], "cancelled");
    EXPECT_GT(stored["output_ids"].size(), 0u);
    EXPECT_LT(stored["output_ids"].size(), 8000u);
}

TEST_F(CommandLineTest, ASecondInterruptEndsAtOnceWhateverItWaitsFor)
{
    test::TestModelSpec spec;
    spec.context = 8192;
    const std::string path = model(spec);
    ASSERT_EQ(cli({"run", path, "--ids", "65", "--max-tokens", "1"}).exitCode, 0);  // makes the database
    // After the first interrupt it saves what it has, and this lock keeps it waiting.
    auto database =
        Connection::open(folder.file("data") / "tokenscope" / "tokenscope.sqlite", Connection::Access::ReadWrite);
    ASSERT_TRUE(database);
    ASSERT_TRUE(database->execute("BEGIN IMMEDIATE"));
    test::ChildOptions options;
    options.interruptAfter = "\xef\xbf\xbd";
    options.keepsInterrupting = true;
    const auto result =
        cli({"run", path, "--ids", "65", "--ignore-eos", "--max-tokens", "8000", "--seed", "1", "--context", "8192"},
            options);
    EXPECT_EQ(result.exitCode, 130) << result.err;
    EXPECT_EQ(result.err.find("not saved"), std::string::npos) << "it waited to the end: " << result.err;
    ASSERT_TRUE(database->execute("ROLLBACK"));
    EXPECT_EQ(document(cli({"runs", "list", "--json"}))["runs"].size(), 1u);
}

TEST_F(CommandLineTest, InspectTellsOfAnyGgufWhetherItRuns)
{
    const json info = document(cli({"inspect", model(), "--json"}));
    EXPECT_EQ(info["architecture"], "llama");
    EXPECT_EQ(info["runnable"], true);
    EXPECT_TRUE(info["reason"].is_null());
    EXPECT_GT(info["bits_per_weight"].get<double>(), 8.0);
    EXPECT_EQ(info["metadata"]["general.architecture"], "llama");
    EXPECT_EQ(info["metadata"]["tokenizer.ggml.tokens"]["first"].size(), 8u) << "long lists are shortened";
    bool hasEmbedding = false;
    for (const json& tensor : info["tensors"])
        hasEmbedding = hasEmbedding || (tensor["name"] == "token_embd.weight" && tensor["type"] == "Q8_0");
    EXPECT_TRUE(hasEmbedding);

    test::TestModelSpec spec;
    test::GgufWriter strange = test::makeTestModel(spec);
    strange.setString("general.architecture", "mamba9");
    strange.write(folder.file("strange.gguf"));
    const auto other = cli({"inspect", folder.file("strange.gguf").string(), "--json"});
    EXPECT_EQ(other.exitCode, 0);
    EXPECT_EQ(document(other)["runnable"], false);
    EXPECT_NE(document(other)["reason"].get<std::string>().find("mamba9"), std::string::npos);
    expectRefused(cli({"run", folder.file("strange.gguf").string(), "--prompt", "a"}), "mamba9");
    expectRefused(cli({"inspect", file("broken.gguf", "GGUFxx")}), "broken.gguf");
}

TEST_F(CommandLineTest, TokenizePrintsIdsAndTheirTexts)
{
    const std::string path = model();
    const json plain = document(cli({"tokenize", path, "--text", "hi<|im_end|>", "--json"}));
    EXPECT_EQ(plain["ids"].size(), plain["tokens"].size());
    const json special = document(cli({"tokenize", path, "--text", "hi<|im_end|>", "--special", "--json"}));
    EXPECT_EQ(special["ids"].back(), 2);
    EXPECT_LT(special["ids"].size(), plain["ids"].size());
    test::ChildOptions input;
    input.input = "hi<|im_end|>";
    EXPECT_EQ(document(cli({"tokenize", path, "--file", "-", "--json"}, input))["ids"], plain["ids"]);
}

TEST_F(CommandLineTest, PerplexityScoresEveryTokenAfterTheFirstOfAWindow)
{
    std::string text;
    for (int i = 0; i < 150; ++i)
        text += static_cast<char>('0' + i % 10);
    const json result = document(
        cli({"perplexity", model(), "--file", file("t.txt", text), "--window", "64", "--windows", "2", "--json"}));
    ASSERT_EQ(result["windows"].size(), 2u);
    EXPECT_EQ(result["windows"][0]["tokens"], 64);
    EXPECT_EQ(result["windows"][0]["scored"], 63);
    const double mean =
        (result["windows"][0]["mean_nll"].get<double>() + result["windows"][1]["mean_nll"].get<double>()) / 2;
    EXPECT_NEAR(result["mean_nll"].get<double>(), mean, 1e-9);
    EXPECT_NEAR(result["perplexity"].get<double>(), std::exp(mean), 1e-6 * std::exp(mean));
}

TEST_F(CommandLineTest, PerplexitySaysHowLongItsWindowsReallyWere)
{
    const std::string path = model();
    const std::string text = file("t.txt", "012345678901234567890123456789");
    EXPECT_NE(cli({"perplexity", path, "--file", text}).out.find(", 1 window of 30 tokens)"), std::string::npos);
    EXPECT_NE(cli({"perplexity", path, "--file", text, "--window", "16"})
                  .out.find(", 2 windows of 16 tokens, the last of 14)"),
              std::string::npos);
}

TEST_F(CommandLineTest, PerplexityWindowsBeginWithTheBosTheModelWants)
{
    const std::string path = model(test::smallGemma3());
    const std::string text = file("t.txt", std::string(100, 'z'));
    const std::size_t tokens = document(cli({"tokenize", path, "--file", text, "--json"}))["ids"].size();
    const json result = document(cli({"perplexity", path, "--file", text, "--window", "32", "--json"}));
    std::size_t total = 0;
    for (const json& window : result["windows"])
        total += window["tokens"].get<std::size_t>();
    EXPECT_EQ(total, tokens + result["windows"].size());
}

TEST_F(CommandLineTest, PerplexityNamesTheWindowsItReallyScored)
{
    const std::string path = model();
    const auto one = cli({"perplexity", path, "--file", file("short.txt", "abcdefgh"), "--window", "64"});
    EXPECT_NE(one.out.find(", 1 window of "), std::string::npos) << one.out << one.err;
    EXPECT_EQ(one.out.find("of 64 tokens"), std::string::npos) << one.out;
    const auto two = cli({"perplexity", path, "--file", file("long.txt", std::string(40, 'a') + "bcdefghijk"),
                          "--window", "8", "--windows", "2"});
    EXPECT_NE(two.out.find(", 2 windows of 8 tokens"), std::string::npos) << two.out << two.err;
}

TEST_F(CommandLineTest, AFailedTemplateNamesTheOptionThatGoesWithoutIt)
{
    const auto result =
        cli({"run", model(), "--prompt", "hi", "--chat", "--quiet", "--template", file("bad.jinja", "{% if %}")});
    EXPECT_NE(result.exitCode, 0);
    EXPECT_NE(result.err.find("choose --template raw to complete"), std::string::npos) << result.err;
}

TEST_F(CommandLineTest, BenchHasLlamaBenchsFieldsInEveryForm)
{
    const std::string path = model();
    const std::vector<std::string> base{"bench", path, "-p", "16", "-n", "4", "-r", "2"};
    const auto with = [&](std::vector<std::string> more) {
        auto all = base;
        all.insert(all.end(), more.begin(), more.end());
        return cli(all);
    };
    const json rows = document(with({"-o", "json"}));
    ASSERT_EQ(rows.size(), 2u);
    for (const char* field : {"build_commit", "cpu_info", "model_filename", "model_type", "model_size",
                              "model_n_params", "n_threads", "type_k", "n_prompt", "n_gen", "n_depth", "test_time",
                              "avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts"})
        EXPECT_TRUE(rows[0].contains(field)) << field;
    EXPECT_EQ(rows[0]["n_prompt"], 16);
    EXPECT_EQ(rows[1]["n_gen"], 4);
    EXPECT_EQ(rows[0]["samples_ns"].size(), 2u);
    EXPECT_GT(rows[1]["avg_ts"].get<double>(), 0.0);
    const auto table = with({});
    EXPECT_NE(table.out.find(" pp16 |"), std::string::npos) << table.out;
    EXPECT_NE(with({"-o", "csv"}).out.find("avg_ts"), std::string::npos);
    const auto deep =
        cli({"bench", path, "-p", "16", "-n", "4", "-d", "32", "-r", "1", "--prefill-chunk", "16", "-o", "jsonl"});
    EXPECT_EQ(std::count(deep.out.begin(), deep.out.end(), '\n'), 2) << deep.err;
    EXPECT_NE(cli({"runs", "list"}).out.find("bench"), std::string::npos);
}

TEST_F(CommandLineTest, BenchOfSequencesHasBatchedBenchsNamesInEveryForm)
{
    const std::string path = model();
    const auto with = [&](const char* form) {
        return cli({"bench", path, "--sequences", "1,3", "-p", "10", "-n", "4", "-r", "2", "-o", form});
    };
    const json rows = document(with("json"));
    ASSERT_EQ(rows.size(), 2u);
    const json& row = rows[1];
    EXPECT_EQ(row["pp"], 10);
    EXPECT_EQ(row["tg"], 4);
    EXPECT_EQ(row["pl"], 3);
    EXPECT_EQ(row["n_kv"], 42);
    EXPECT_NEAR(row["speed_pp"].get<double>() * row["t_pp"].get<double>(), 30.0, 1e-6);
    EXPECT_NEAR(row["speed_tg"].get<double>() * row["t_tg"].get<double>(), 12.0, 1e-6);
    EXPECT_NEAR(row["t"].get<double>(), row["t_pp"].get<double>() + row["t_tg"].get<double>(), 1e-9);
    EXPECT_NEAR(row["speed"].get<double>() * row["t"].get<double>(), 42.0, 1e-6);

    const auto lines = with("jsonl");
    EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 2) << lines.err;
    EXPECT_NE(with("md").out.find("S_TG t/s"), std::string::npos);
    EXPECT_NE(with("csv").out.find("speed_tg"), std::string::npos);
    EXPECT_NE(cli({"runs", "list"}).out.find("bench"), std::string::npos);
}

TEST_F(CommandLineTest, BenchOfRowsTimesAStepForEveryCountAndDepth)
{
    const std::string path = model();
    const auto result = cli({"bench", path, "--rows", "1,2,8", "-d", "0,40", "-r", "1", "--json"});
    const json rows = document(result);
    ASSERT_EQ(rows.size(), 6u) << result.err;
    EXPECT_EQ(rows[2]["n_rows"], 8);
    EXPECT_EQ(rows[5]["n_depth"], 40);
    for (const json& row : rows)
        EXPECT_GT(row["step_ms"].get<double>(), 0.0);
    EXPECT_NE(cli({"bench", path, "--rows", "2", "-r", "1"}).out.find("step ms"), std::string::npos);
    EXPECT_NE(cli({"bench", path, "--rows", "2", "-r", "1", "-o", "csv"}).out.find("step_ms"), std::string::npos);
    const auto onReference = cli({"bench", path, "--rows", "2", "-r", "1", "--device", "reference", "--json"});
    EXPECT_EQ(document(onReference).size(), 1u) << onReference.err;
}

TEST_F(CommandLineTest, AProfilesStagesAreWithinTheStepAndCountItsWork)
{
    const std::string path = model();
    const auto result = cli({"bench", path, "--profile", "-p", "24", "-d", "40", "-r", "3", "--json"});
    const json profile = document(result);
    ASSERT_EQ(profile["stages"].size(), 8u) << result.out << result.err;
    EXPECT_EQ(profile["n_depth"], 40);
    EXPECT_EQ(profile["prompt"]["n_rows"], 24);
    for (const json& step : {profile, profile["prompt"]}) {
        double sum = 0.0;
        for (const json& stage : step["stages"]) {
            for (const char* field : {"name", "ms", "bytes", "macs", "share_of_bandwidth", "share_of_compute"})
                EXPECT_TRUE(stage.contains(field)) << field;
            EXPECT_GE(stage["ms"].get<double>(), 0.0);
            EXPECT_EQ(stage["share_of_compute"].is_null(), stage["macs"] == 0) << stage;
            sum += stage["ms"].get<double>();
        }
        EXPECT_GT(sum, 0.0);
        EXPECT_LE(sum, step["step_ms"].get<double>() * (1 + 1e-9));
    }
    const auto macs = [](const json& step, const std::string& name) {
        for (const json& stage : step["stages"])
            if (stage["name"] == name)
                return stage["macs"].get<std::uint64_t>();
        return std::uint64_t{0};
    };
    EXPECT_GT(macs(profile, "qkv"), 0u);
    EXPECT_EQ(macs(profile["prompt"], "gate_up"), 24 * macs(profile, "gate_up"));
    EXPECT_EQ(macs(profile["prompt"], "head"), macs(profile, "head")) << "one row's logits in both";
    EXPECT_EQ(macs(profile["prompt"], "attention") * 41, macs(profile, "attention") * (41 + 64) * 12);

    EXPECT_FALSE(document(cli({"bench", path, "--profile", "-p", "0", "-r", "1", "--json"})).contains("prompt"));
    const std::string table = cli({"bench", path, "--profile", "-p", "8", "-r", "1"}).out;
    EXPECT_NE(table.find("Prompt step of 8 rows"), std::string::npos) << table;
    EXPECT_NE(cli({"bench", path, "--profile", "-r", "1", "-o", "csv"}).out.find("share_of_bandwidth"),
              std::string::npos);
}

TEST_F(CommandLineTest, ChatAnswersLinesOfItsInputAndKeepsTheConversation)
{
    test::ChildOptions input;
    input.input = "first\n\nsecond\n/exit\nnever read\n";
    const auto result =
        cli({"chat", model(), "--template", "raw", "--max-tokens", "3", "--ignore-eos", "--seed", "1"}, input);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    const auto database =
        Connection::open(folder.file("data") / "tokenscope" / "tokenscope.sqlite", Connection::Access::ReadOnly);
    ASSERT_TRUE(database);
    EXPECT_EQ(database->queryInteger("SELECT count(*) FROM messages"), 4);
    EXPECT_EQ(database->queryText("SELECT title FROM conversations"), "first");
    EXPECT_EQ(database->queryInteger("SELECT count(*) FROM runs WHERE kind = 'chat'"), 2);
    EXPECT_EQ(database->queryInteger("SELECT count(*) FROM messages WHERE run IS NOT NULL"), 2);
    EXPECT_EQ(database->queryInteger("SELECT count(*) FROM sessions"), 0) << "closed in order";
}

TEST_F(CommandLineTest, ExportLeavesTheTextsOutUnlessAsked)
{
    cli({"run", model(), "--prompt", "secret words", "--temp", "0", "--max-tokens", "3", "--ignore-eos"});
    const auto plain = cli({"runs", "export", "1"});
    EXPECT_EQ(plain.exitCode, 0) << plain.err;
    EXPECT_EQ(plain.out.find("secret"), std::string::npos);
    EXPECT_FALSE(document(plain)["runs"][0].contains("output_ids"));
    EXPECT_EQ(document(plain)["runs"][0]["events"]["tokens"].size(), 3u);
    EXPECT_NE(cli({"runs", "export", "last", "--with-text"}).out.find("secret"), std::string::npos);

    const std::string out = folder.file("runs.csv").string();
    EXPECT_EQ(cli({"runs", "export", "1", "--format", "csv", "--out", out}).exitCode, 0);
    const std::string csv = test::readFile(out);
    EXPECT_NE(csv.find("ttft_ms"), std::string::npos);
    EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 2);
    expectRefused(cli({"runs", "export", "77"}), "no run 77");
}

TEST_F(CommandLineTest, ANewerDatabaseEndsRunsWithOneAndStopsNoAnswer)
{
    const std::filesystem::path data = folder.file("newer");
    std::filesystem::create_directories(data);
    {
        auto connection = Connection::open(data / "tokenscope.sqlite", Connection::Access::ReadWrite);
        ASSERT_TRUE(connection->execute("PRAGMA user_version=99"));
    }
    const std::string before = test::readFile(data / "tokenscope.sqlite");
    expectRefused(cli({"runs", "list", "--data-dir", data.string()}), "newer version", 1);
    const auto run = cli({"run", model(), "--ids", "65", "--max-tokens", "2", "--json", "--data-dir", data.string()});
    EXPECT_EQ(run.exitCode, 0);
    EXPECT_TRUE(document(run)["run_id"].is_null());
    EXPECT_NE(run.err.find("not saved"), std::string::npos);
    EXPECT_EQ(test::readFile(data / "tokenscope.sqlite"), before);
}

TEST_F(CommandLineTest, SystemTellsTheMachineAndItsCeilings)
{
    const json system = document(cli({"system", "--json"}));
    for (const char* field : {"cpu", "cores", "threads", "isa", "memory_bytes", "cgroup_memory_bytes",
                              "read_bandwidth_bytes_per_s", "int8_macs_per_s", "f32_macs_per_s", "gpu", "gpu_reason"})
        EXPECT_TRUE(system.contains(field)) << field;
    EXPECT_GT(system["read_bandwidth_bytes_per_s"].get<double>(), 1e8);
    EXPECT_GE(system["ceilings_other_load"].get<double>(), 0.0);
    EXPECT_LE(system["ceilings_other_load"].get<double>(), 1.0);
    const json again = document(cli({"system", "--json"}));
    EXPECT_EQ(again["read_bandwidth_bytes_per_s"], system["read_bandwidth_bytes_per_s"])
        << "measured once, then stored";
    EXPECT_EQ(again["ceilings_other_load"], system["ceilings_other_load"]);
}

TEST_F(CommandLineTest, AClosedStdoutIsAFailureAndNoSignal)
{
    const auto result =
        test::runChild("/bin/sh", {"-c", std::string(TOKENSCOPE_CLI) + " inspect " + model() + " >/dev/full"});
    EXPECT_EQ(result.exitCode, 1);
    EXPECT_NE(result.err.find("standard output"), std::string::npos);
}

}  // namespace
}  // namespace tokenscope
