#include "ui/charts/scope_view.h"

#include "ui/charts/chart_text.h"
#include "ui/charts/kv_bar.h"
#include "ui/charts/scope_card.h"
#include "ui/charts/ttft_bars.h"
#include "ui/theme/metrics.h"

#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace tokenscope::ui {
namespace {

// Charts at 5 Hz: each refresh of both costs about 10 ms of the GUI thread.
constexpr int kRefreshMs = 200;
// Axis ends in steps, so that the picture does not shift with every token.
constexpr double kTokenSteps[] = {60, 120, 240, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 1e6};

constexpr double kGiga = 1e9;

}  // namespace

ScopeView::ScopeView(QWidget* parent)
    : QWidget(parent), m_ttftBars(new TtftBars), m_gapChart(new TimelineChart(&Palette::s1, false)), m_kvBar(new KvBar),
      m_bandwidthChart(new TimelineChart(&Palette::s2, true)),
      m_tokens(std::make_shared<const std::vector<ScopeToken>>()),
      m_gapTokens(std::make_shared<const std::vector<int>>())
{
    m_ttftCard =
        new ScopeCard(tr("Time to first token"),
                      tr("From the moment a message is sent to its first token, split into tokenising, waiting in "
                         "the queue, computing the prompt (prefill) and sampling the first token. Loading the "
                         "model is not part of it."),
                      m_ttftBars);
    m_gapCard =
        new ScopeCard(tr("Inter-token latency"),
                      tr("The gap between one token and the next, as the engine committed them. The big number is "
                         "the median; p95 and p99 are the gaps that 95 and 99 of 100 stay below."),
                      m_gapChart);
    m_kvCard =
        new ScopeCard(tr("KV cache"),
                      tr("Memory for the keys and values of every token the model looks back at. It grows by the "
                         "same amount with each token; when it is full the answer stops and says so."),
                      m_kvBar);
    m_bandwidthCard =
        new ScopeCard(tr("Memory bandwidth"),
                      tr("Bytes each step must read and write (weights touched, cache read and written) over "
                         "the step's time, against the reading speed measured on this machine. Above the "
                         "ceiling is possible where part of the weights stays in the processor's cache."),
                      m_bandwidthChart);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(kSpace3, kSpace3, kSpace3, kSpace3);
    column->setSpacing(kSpace2);
    column->addWidget(m_ttftCard);
    column->addWidget(m_gapCard, 5);
    column->addWidget(m_kvCard);
    column->addWidget(m_bandwidthCard, 5);
    column->addStretch(1);

    connect(m_gapChart, &TimelineChart::pointHovered, this,
            [this](int point) { hover(point < 0 ? -1 : (*m_gapTokens)[static_cast<std::size_t>(point)]); });
    connect(m_bandwidthChart, &TimelineChart::pointHovered, this,
            [this](int point) { hover(point < 0 ? -1 : (*m_gapTokens)[static_cast<std::size_t>(point)]); });
    m_timer.setInterval(kRefreshMs);
    connect(&m_timer, &QTimer::timeout, this, &ScopeView::refreshIfShown);
    refresh();
}

void ScopeView::modelChanged()
{
    if (!m_timer.isActive()) {
        m_timer.start();
        refreshIfShown();
    }
}

void ScopeView::refreshIfShown()
{
    if (m_shownRevision == m_model.revision()) {
        if (!m_model.isLive())
            m_timer.stop();
        return;
    }
    if (!m_frozen && isVisible())
        refresh();
}

void ScopeView::showEvent(QShowEvent* event)
{
    QWidget::showEvent(event);
    refreshIfShown();
}

void ScopeView::setFrozen(bool frozen)
{
    if (m_frozen == frozen)
        return;
    m_frozen = frozen;
    if (!frozen)
        refresh();
    emit frozenChanged(frozen);
}

void ScopeView::setAxis(Axis axis)
{
    m_axis = axis;
    refresh();
}

double ScopeView::xOf(int token) const
{
    return m_axis == Axis::Tokens ? token + 1.0 : (*m_tokens)[static_cast<std::size_t>(token)].atMs / 1e3;
}

double ScopeView::axisEnd() const
{
    if (m_axis == Axis::Time)
        return niceCeiling(m_tokens->empty() ? 1.0 : m_tokens->back().atMs / 1e3);
    const auto count = static_cast<double>(m_tokens->size());
    return *std::lower_bound(std::begin(kTokenSteps), std::end(kTokenSteps) - 1, count);
}

void ScopeView::refresh()
{
    m_shownRevision = m_model.revision();
    takeTokens();
    refreshTtft();
    refreshGaps();
    refreshKv();
    refreshBandwidth();
    updateMarkers();
}

void ScopeView::takeTokens()
{
    const std::vector<ScopeToken>& now = m_model.tokens();
    const auto same = [](const ScopeToken& a, const ScopeToken& b) { return a.atMs == b.atMs && a.stepMs == b.stepMs; };
    m_extends = !m_tokens->empty() && m_tokens->size() <= now.size() && same(m_tokens->front(), now.front()) &&
                same(m_tokens->back(), now[m_tokens->size() - 1]);
    std::vector<int> gaps;
    gaps.reserve(now.size());
    for (std::size_t i = 0; i < now.size(); ++i)
        if (now[i].gapMs)
            gaps.push_back(static_cast<int>(i));
    m_tokens = std::make_shared<const std::vector<ScopeToken>>(now);
    m_gapTokens = std::make_shared<const std::vector<int>>(std::move(gaps));
}

void ScopeView::refreshTtft()
{
    const auto& splits = m_model.splits();
    m_ttftBars->setSplits(splits);
    m_ttftCard->setSubtitle({tr("by phase")});
    const auto text = [](std::optional<double> ms) { return ms ? shortNumber(*ms) : QStringLiteral("–"); };
    std::vector<QStringList> rows;
    for (std::size_t i = 0; i < splits.size(); ++i)
        rows.push_back({i == 0 ? tr("now") : QStringLiteral("−%1").arg(i), text(splits[i].tokenizeMs),
                        text(splits[i].queueMs), text(splits[i].prefillMs), text(splits[i].firstSampleMs),
                        text(splits[i].totalMs)});
    m_ttftCard->setTable(
        {tr("Answer"), tr("Tokenise, ms"), tr("Queue, ms"), tr("Prefill, ms"), tr("First sample, ms"), tr("TTFT, ms")},
        std::move(rows));
    if (splits.empty() || !splits.front().totalMs) {
        m_ttftCard->setValue({}, {});
        m_ttftCard->setSummary(tr("No answer has begun yet."));
        return;
    }
    const TtftSplit& now = splits.front();
    m_ttftCard->setValue(shortNumber(*now.totalMs), tr("ms"));
    m_ttftCard->setSummary(
        tr("The first token came after %1 milliseconds: tokenise %2, queue %3, prefill %4, first sample %5.")
            .arg(text(now.totalMs), text(now.tokenizeMs), text(now.queueMs), text(now.prefillMs),
                 text(now.firstSampleMs)));
}

void ScopeView::refreshGaps()
{
    TimelineData timeline;
    timeline.xEnd = axisEnd();
    timeline.xUnit = m_axis == Axis::Tokens ? QString() : tr("s");
    timeline.emptyText = tr("Every gap between two tokens stands here.");
    timeline.points.reserve(m_gapTokens->size());
    for (const int token : *m_gapTokens)
        timeline.points.push_back({xOf(token), *(*m_tokens)[static_cast<std::size_t>(token)].gapMs});
    const auto p50 = m_model.gapPercentile(50), p95 = m_model.gapPercentile(95), p99 = m_model.gapPercentile(99);
    if (const auto p5 = m_model.gapPercentile(5); p5 && p95 && m_model.gapCount() >= 8)
        timeline.band = std::pair(*p5, *p95);
    m_gapChart->setData(std::move(timeline));
    m_gapCard->setLiveTable(
        {tr("Token"), tr("At, ms"), tr("Gap, ms"), tr("Step, ms")}, static_cast<int>(m_gapTokens->size()),
        [tokens = m_tokens, gaps = m_gapTokens](int row, int column) {
            const int token = (*gaps)[static_cast<std::size_t>(row)];
            const ScopeToken& value = (*tokens)[static_cast<std::size_t>(token)];
            switch (column) {
            case 0:
                return wholeNumber(token + 1);
            case 1:
                return QLocale().toString(value.atMs, 'f', 1);
            case 2:
                return QLocale().toString(*value.gapMs, 'f', 2);
            default:
                return QLocale().toString(value.stepMs, 'f', 2);
            }
        },
        m_extends);
    if (!p50) {
        m_gapCard->setValue({}, {});
        m_gapCard->setSubtitle(m_model.isLive() ? QStringList(tr("waiting for the second token")) : QStringList());
        m_gapCard->setSummary(tr("There are no gaps yet: a gap needs two tokens."));
        return;
    }
    const int n = m_model.gapCount();
    m_gapCard->setValue(shortNumber(*p50), tr("ms p50"));
    const QString most = tr("p95 %1 · p99 %2").arg(shortNumber(*p95), shortNumber(*p99));
    const QString few = n < 100 ? most + tr(" (few)") : most;
    m_gapCard->setSubtitle({few + tr(" · n %1").arg(wholeNumber(n)), few, most});
    m_gapCard->setSummary(tr("Half of %1 gaps are below %2 milliseconds, 95 of 100 below %3, 99 of 100 below %4.")
                              .arg(wholeNumber(n), shortNumber(*p50), shortNumber(*p95), shortNumber(*p99)));
}

void ScopeView::refreshKv()
{
    const KvFill& kv = m_model.kv();
    m_kvBar->setFill(kv);
    m_kvCard->setTable({tr("What"), tr("Value")},
                       {{tr("Bytes in use"), wholeNumber(static_cast<double>(kv.usedBytes))},
                        {tr("Bytes reserved"), wholeNumber(static_cast<double>(kv.totalBytes))},
                        {tr("Blocks in use"), wholeNumber(kv.usedBlocks)},
                        {tr("Blocks"), wholeNumber(kv.totalBlocks)},
                        {tr("Tokens"), wholeNumber(kv.tokens)},
                        {tr("Context, tokens"), wholeNumber(kv.context)},
                        {tr("Bytes a token"), wholeNumber(kv.bytesPerToken)}});
    if (kv.totalBlocks == 0) {
        m_kvCard->setValue({}, {});
        m_kvCard->setSubtitle({});
        m_kvCard->setSummary(kvForecast(kv));
        return;
    }
    const QString bytes = tr("%1 of %2")
                              .arg(decimalBytesText(static_cast<double>(kv.usedBytes)),
                                   decimalBytesText(static_cast<double>(kv.totalBytes)));
    m_kvCard->setSubtitle(
        {bytes + tr(" · %1 of %2 blocks").arg(wholeNumber(kv.usedBlocks), wholeNumber(kv.totalBlocks)), bytes});
    m_kvCard->setValue(shortNumber(100.0 * kv.usedBlocks / kv.totalBlocks), QStringLiteral("%"));
    m_kvCard->setSummary(kvForecast(kv));
}

void ScopeView::refreshBandwidth()
{
    TimelineData timeline;
    timeline.xEnd = axisEnd();
    timeline.xUnit = m_axis == Axis::Tokens ? tr("tokens") : tr("s");
    timeline.emptyText = tr("What each step reads and writes stands here.");
    timeline.points.reserve(m_gapTokens->size());
    for (const int token : *m_gapTokens)
        timeline.points.push_back({xOf(token), (*m_tokens)[static_cast<std::size_t>(token)].bytesPerSecond / kGiga});
    const auto& ceilings = m_model.ceilings();
    if (ceilings && ceilings->readBytesPerSecond > 0) {
        timeline.ceiling = ceilings->readBytesPerSecond / kGiga;
        timeline.ceilingLabel = tr("measured ceiling %1 GB/s").arg(shortNumber(*timeline.ceiling));
    }
    const std::optional<double> ceiling = timeline.ceiling;
    m_bandwidthChart->setData(std::move(timeline));
    m_bandwidthCard->setLiveTable(
        {tr("Token"), tr("Bytes"), tr("Step, ms"), tr("GB/s")}, static_cast<int>(m_gapTokens->size()),
        [tokens = m_tokens, gaps = m_gapTokens](int row, int column) {
            const int token = (*gaps)[static_cast<std::size_t>(row)];
            const ScopeToken& value = (*tokens)[static_cast<std::size_t>(token)];
            switch (column) {
            case 0:
                return wholeNumber(token + 1);
            case 1:
                return wholeNumber(static_cast<double>(value.bytes));
            case 2:
                return QLocale().toString(value.stepMs, 'f', 2);
            default:
                return QLocale().toString(value.bytesPerSecond / kGiga, 'f', 2);
            }
        },
        m_extends);
    const QStringList unknown{tr("CPU · ceiling not measured yet"), tr("CPU · no ceiling yet")};
    const auto mean = m_model.meanBytesPerSecond();
    if (!mean) {
        m_bandwidthCard->setValue({}, {});
        m_bandwidthCard->setSubtitle(ceiling ? QStringList(tr("CPU")) : unknown);
        m_bandwidthCard->setSummary(tr("No step has been measured yet."));
        return;
    }
    m_bandwidthCard->setValue(shortNumber(*mean / kGiga), tr("GB/s"));
    const QString share = ceiling ? shortNumber(100.0 * *mean / kGiga / *ceiling) : QString();
    m_bandwidthCard->setSubtitle(
        ceiling ? QStringList{tr("CPU · %1 % of the ceiling").arg(share), tr("CPU · %1 % of ceiling").arg(share)}
                : unknown);
    m_bandwidthCard->setSummary(
        ceiling ? tr("The steps moved %1 gigabytes a second, %2 per cent of the measured %3.")
                      .arg(shortNumber(*mean / kGiga), share, shortNumber(*ceiling))
                : tr("The steps moved %1 gigabytes a second; the ceiling has not been measured yet.")
                      .arg(shortNumber(*mean / kGiga)));
}

void ScopeView::hover(int token)
{
    if (token == m_marked)
        return;
    m_marked = token;
    updateMarkers();
    emit tokenHovered(token);
}

void ScopeView::markToken(int token)
{
    m_marked = token;
    updateMarkers();
}

void ScopeView::updateMarkers()
{
    const auto found = std::lower_bound(m_gapTokens->begin(), m_gapTokens->end(), m_marked);
    if (m_marked < 0 || found == m_gapTokens->end() || *found != m_marked) {
        m_gapChart->setMarker(-1);
        m_bandwidthChart->setMarker(-1);
        return;
    }
    const int point = static_cast<int>(found - m_gapTokens->begin());
    const ScopeToken& token = (*m_tokens)[static_cast<std::size_t>(m_marked)];
    QString text = m_tokenText ? m_tokenText(m_marked).simplified() : QString();
    text = text.isEmpty() ? QString() : tr(" “%1”").arg(text);
    QStringList what;
    what << tr("step %1 ms, sampling %2").arg(shortNumber(token.stepMs), shortNumber(token.sampleMs));
    if (token.newBlocks > 0)
        what << tr("new KV block");
    if (token.prefillRows > 0)
        what << tr("shared with a prompt");
    if (token.sequences > 1)
        what << tr("%1 sequences").arg(token.sequences);
    m_gapChart->setMarker(point,
                          tr("token %1%2 · %3 ms").arg(wholeNumber(m_marked + 1), text, shortNumber(*token.gapMs)),
                          what.join(tr(" · ")));
    m_bandwidthChart->setMarker(
        point, tr("%1 GB/s").arg(shortNumber(token.bytesPerSecond / kGiga)),
        tr("%1 in %2 ms").arg(decimalBytesText(static_cast<double>(token.bytes)), shortNumber(token.stepMs)));
}

QString ScopeView::summary() const
{
    return QStringList{m_ttftCard->summary(), m_gapCard->summary(), m_kvCard->summary(), m_bandwidthCard->summary()}
        .join(u'\n');
}

}  // namespace tokenscope::ui
