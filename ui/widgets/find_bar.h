// Find in chat: a field over the transcript, Enter for the next place, Shift+Enter for the one before, Esc closes.
#pragma once

#include "ui/widgets/card.h"

namespace tokenscope::ui {

class PillButton;
class SearchField;
class TextLabel;
class TranscriptView;

class FindBar : public Bar {
    Q_OBJECT

public:
    explicit FindBar(TranscriptView& view, QWidget* parent = nullptr);

    void open();
    void close();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void search();
    void next(bool backwards);

    TranscriptView& m_view;
    SearchField* m_field;
    TextLabel* m_count;
};

}  // namespace tokenscope::ui
