// A value and the others it could have: a flat box with the current one and a menu behind it. Arrow keys step through
// the choices, Space and Return open the menu.
#pragma once

#include <QAbstractButton>
#include <QString>

#include <vector>

namespace tokenscope::ui {

struct Choice {
    QString value;   // what chosen() tells
    QString label;   // in the menu and, if it is the current one, in the box
    QString detail;  // tool tip of the menu entry
    bool separatorBefore = false;
};

class ChoiceButton : public QAbstractButton {
    Q_OBJECT

public:
    explicit ChoiceButton(const QString& name, QWidget* parent = nullptr);

    void setChoices(std::vector<Choice> choices);
    const std::vector<Choice>& choices() const { return m_choices; }
    // A value that is not among the choices is shown as it is.
    void setValue(const QString& value);
    QString value() const { return m_value; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

signals:
    void chosen(const QString& value);  // by the user only

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;

private:
    void openMenu();
    void step(int by);
    void choose(const QString& value);
    QString label() const;

    QString m_name;
    std::vector<Choice> m_choices;
    QString m_value;
};

}  // namespace tokenscope::ui
