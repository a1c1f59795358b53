// What an empty chat shows instead of nothing: what can be done here, and three first questions.
#pragma once

#include <QWidget>

namespace tokenscope::ui {

class TranscriptView;

class TranscriptEmpty : public QWidget {
    Q_OBJECT

public:
    // Lies over the view and is there while the view's model has no rows.
    explicit TranscriptEmpty(TranscriptView& view);

signals:
    void promptChosen(const QString& text);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void place();
    TranscriptView& m_view;
};

}  // namespace tokenscope::ui
