// The one button of the program, in four strengths.
#pragma once

#include <QPushButton>

namespace tokenscope::ui {

class PillButton : public QPushButton {
    Q_OBJECT

public:
    enum class Kind {
        Primary,    // filled with the accent: the one thing to do here
        Secondary,  // panel with a hairline
        Link,       // accent text only
        Icon,       // a bare icon; its accessible name is the tool tip
    };

    PillButton(Kind kind, const QString& text, QWidget* parent = nullptr);
    // An icon button; `name` is what it does, for the tool tip and for screen readers.
    static PillButton* icon(const QString& icon, const QString& name, QWidget* parent = nullptr);

    void setIconName(const QString& icon);
    void setHint(const QString& hint);  // right-aligned and dim: the shortcut
    void setLeftAligned(bool left);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;
    void enterEvent(QEnterEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;

private:
    QFont labelFont() const;

    Kind m_kind;
    QString m_icon;
    QString m_hint;
    bool m_left = false;
    bool m_ring = false;  // the focus came by the keyboard
};

}  // namespace tokenscope::ui
