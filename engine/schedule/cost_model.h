// How many prompt rows a step may have, from what steps have cost so far. A step that is too long makes everybody who
// is decoding wait for it, one that is too short reads the weights for few rows.
//
// Which rows share a step never changes a result (engine.md 5), so a measured time may decide it.
#pragma once

#include "engine/base/clock.h"

namespace tokenscope {

class CostModel {
public:
    // setting: prefillChunk of EngineSettings: rows, 0 = by cost, kWholePrompt.
    explicit CostModel(int setting) : m_setting(setting) {}

    // A step of `rows` took this long. Steps of a few rows say nothing about a prompt's and are passed over.
    void observe(int rows, Nanoseconds duration);

    // At least 1.
    int prefillRows(int decodingRows) const;

private:
    int m_setting;
    double m_nsPerRow = 0.0;  // 0 = not measured yet
};

}  // namespace tokenscope
