// A QLabel with a role in the type scale and a colour of the palette; follows theme and text size by itself.
#pragma once

#include "ui/theme/fonts.h"
#include "ui/theme/palette.h"

#include <QLabel>

namespace tokenscope::ui {

class TextLabel : public QLabel {
    Q_OBJECT

public:
    explicit TextLabel(const QString& text, FontRole font = FontRole::Body, ColorRole color = &Palette::text,
                       QWidget* parent = nullptr);

    void setColor(ColorRole color);
    // Cuts with an ellipsis instead of asking for room; the whole text is the tool tip.
    void setElided(bool elided);

    QSize minimumSizeHint() const override;

protected:
    bool event(QEvent* event) override;
    void changeEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    void restyle();

    FontRole m_font;
    ColorRole m_color;
    bool m_elided = false;
    bool m_restyling = false;
};

}  // namespace tokenscope::ui
