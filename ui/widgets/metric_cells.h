// The line of figures under an answer, each with its definition (metrics.md).
#pragma once

#include "ui/models/transcript_model.h"

#include <QRectF>
#include <QString>

#include <vector>

namespace tokenscope::ui {

struct MetricCell {
    QString label;  // dim, before the value
    QString value;  // strong
    QString unit;   // dim, after it
    QString definition;
    QRectF place;  // set by the layout
};

std::vector<MetricCell> metricCells(const TranscriptItem& item);
QString stopReasonText(StopReason reason);        // "end of answer"
QString stopReasonDefinition(StopReason reason);  // a sentence

}  // namespace tokenscope::ui
