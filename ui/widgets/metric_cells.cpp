#include "ui/widgets/metric_cells.h"

#include "ui/widgets/format.h"

#include <QCoreApplication>
#include <QLocale>

namespace tokenscope::ui {
namespace {

QString tr(const char* text)
{
    return QCoreApplication::translate("Metrics", text);
}

QString ttftDefinition(const RequestMetrics& metrics)
{
    QString text = tr("Time to first token: from sending to the first token of the answer.");
    if (metrics.tokenizeMs && metrics.queueMs && metrics.prefillMs && metrics.firstSampleMs)
        text += QLatin1Char('\n') +
                tr("Tokenise %1, queue %2, prefill %3, first sample %4. Loading the model is not in it.")
                    .arg(millisecondsText(*metrics.tokenizeMs), millisecondsText(*metrics.queueMs),
                         millisecondsText(*metrics.prefillMs), millisecondsText(*metrics.firstSampleMs));
    return text;
}

}  // namespace

QString stopReasonText(StopReason reason)
{
    switch (reason) {
    case StopReason::Eos:
        return tr("end of answer");
    case StopReason::StopString:
        return tr("stop string");
    case StopReason::Length:
        return tr("token limit");
    case StopReason::ContextFull:
        return tr("context full");
    case StopReason::Cancelled:
        return tr("stopped");
    case StopReason::Deadline:
        return tr("deadline");
    case StopReason::Error:
        break;
    }
    return tr("failed");
}

QString stopReasonDefinition(StopReason reason)
{
    switch (reason) {
    case StopReason::Eos:
        return tr("The model ended the answer itself, with its end-of-text token.");
    case StopReason::StopString:
        return tr("The answer contained one of the stop strings of the settings.");
    case StopReason::Length:
        return tr("The answer reached the limit of tokens of the settings. Continue goes on from here.");
    case StopReason::ContextFull:
        return tr("The context is full: a larger one is a setting, and needs a reload.");
    case StopReason::Cancelled:
        return tr("You stopped the answer. Continue goes on from here.");
    case StopReason::Deadline:
        return tr("The time allowed for the answer was over.");
    case StopReason::Error:
        break;
    }
    return tr("The answer could not be completed.");
}

std::vector<MetricCell> metricCells(const TranscriptItem& item)
{
    std::vector<MetricCell> cells;
    if (item.fromUser || item.look == MessageLook::Streaming)
        return cells;
    const auto add = [&](const QString& label, const QString& value, const QString& unit, const QString& definition) {
        cells.push_back({label, value, unit, definition, {}});
    };
    if (const auto& metrics = item.metrics) {
        if (metrics->ttftMs)
            add(tr("TTFT"), millisecondsText(*metrics->ttftMs), {}, ttftDefinition(*metrics));
        if (metrics->tpotMs)
            add(tr("TPOT"), millisecondsText(*metrics->tpotMs), {},
                tr("Time per output token: from the first to the last token, divided by the tokens after the first."));
        if (metrics->decodeTokensPerSecond)
            add({},
                QLocale().toString(*metrics->decodeTokensPerSecond, 'f', *metrics->decodeTokensPerSecond < 10 ? 1 : 0),
                tr("tok/s"),
                tr("Decode speed: tokens after the first, divided by the time from the first to the last."));
        if (metrics->promptTokens > 0 || metrics->outputTokens > 0)
            add({}, {}, tr("%1 → %2 tokens").arg(countText(metrics->promptTokens), countText(metrics->outputTokens)),
                tr("Tokens of the prompt (the whole conversation, as the template writes it) → tokens of the answer, "
                   "the "
                   "end-of-text token included."));
        if (metrics->cachedTokens > 0)
            add({}, {}, tr("%1 cached").arg(countText(metrics->cachedTokens)),
                tr("Tokens of the prompt whose keys and values were still in the cache, and were not computed again."));
    }
    if (item.stopReason && item.look != MessageLook::Failed)
        add({}, {}, stopReasonText(*item.stopReason), stopReasonDefinition(*item.stopReason));
    else if (item.look == MessageLook::Stopped)
        add({}, {}, stopReasonText(StopReason::Cancelled), stopReasonDefinition(StopReason::Cancelled));
    return cells;
}

}  // namespace tokenscope::ui
