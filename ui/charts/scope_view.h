// The scope: four cards on one axis, fed from a ScopeModel. Live events are taken at once, the pictures follow five
// times a second and only while the scope can be seen; frozen, they stay as they are while the data go on.
#pragma once

#include "app/services/scope_service.h"
#include "ui/charts/timeline_chart.h"

#include <QTimer>
#include <QWidget>

#include <functional>
#include <memory>
#include <vector>

namespace tokenscope::ui {

class KvBar;
class ScopeCard;
class TtftBars;

class ScopeView : public QWidget {
    Q_OBJECT

public:
    enum class Axis { Tokens, Time };

    explicit ScopeView(QWidget* parent = nullptr);

    ScopeModel& model() { return m_model; }
    void modelChanged();  // call after the model took events; cheap, repaints later
    // Text of an output token, for the hover card; may be empty.
    void setTokenText(std::function<QString(int token)> textOf) { m_tokenText = std::move(textOf); }

    bool isFrozen() const { return m_frozen; }
    Axis axis() const { return m_axis; }
    int markedToken() const { return m_marked; }
    QString summary() const;  // all four in words
    void refresh();           // now, frozen or not shown as it may be (screenshots, tests)

public slots:
    void setFrozen(bool frozen);
    void setAxis(tokenscope::ui::ScopeView::Axis axis);
    void markToken(int token);  // from the text; -1 = none

signals:
    void tokenHovered(int token);  // in a chart; -1 = none
    void frozenChanged(bool frozen);

protected:
    void showEvent(QShowEvent* event) override;

private:
    void refreshIfShown();
    void takeTokens();
    void refreshGaps();
    void refreshBandwidth();
    void refreshTtft();
    void refreshKv();
    double xOf(int token) const;
    double axisEnd() const;
    void hover(int token);
    void updateMarkers();

    ScopeModel m_model;
    std::function<QString(int)> m_tokenText;
    TtftBars* m_ttftBars;
    TimelineChart* m_gapChart;
    KvBar* m_kvBar;
    TimelineChart* m_bandwidthChart;
    ScopeCard *m_ttftCard, *m_gapCard, *m_kvCard, *m_bandwidthCard;
    // What the pictures and tables show: the model's tokens at the last refresh. Shared with the tables, which are read
    // later; a copy, so that frozen charts and tables stay the same while the answer goes on.
    std::shared_ptr<const std::vector<ScopeToken>> m_tokens;
    std::shared_ptr<const std::vector<int>> m_gapTokens;  // token index of each point of the charts
    bool m_extends = false;                               // the last refresh only added tokens
    QTimer m_timer;
    std::size_t m_shownRevision = 0;
    Axis m_axis = Axis::Tokens;
    bool m_frozen = false;
    int m_marked = -1;
};

}  // namespace tokenscope::ui
