#include "ui/widgets/choice_button.h"

#include "ui/theme/fonts.h"
#include "ui/theme/icons.h"
#include "ui/widgets/painting.h"

#include <QEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QWheelEvent>

#include <algorithm>

namespace tokenscope::ui {
namespace {

constexpr int kHeight = 26, kChevron = 14;

}  // namespace

ChoiceButton::ChoiceButton(const QString& name, QWidget* parent) : QAbstractButton(parent), m_name(name)
{
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    setCursor(Qt::PointingHandCursor);
    setAccessibleName(name);
    connect(this, &QAbstractButton::clicked, this, &ChoiceButton::openMenu);
}

void ChoiceButton::setChoices(std::vector<Choice> choices)
{
    m_choices = std::move(choices);
    updateGeometry();
    update();
}

void ChoiceButton::setValue(const QString& value)
{
    m_value = value;
    setAccessibleName(tr("%1: %2").arg(m_name, label()));
    update();
}

QString ChoiceButton::label() const
{
    const auto found = std::find_if(m_choices.begin(), m_choices.end(),
                                    [this](const Choice& choice) { return choice.value == m_value; });
    return found == m_choices.end() ? m_value : found->label;
}

QSize ChoiceButton::sizeHint() const
{
    return {scaled(150), scaled(kHeight)};
}

QSize ChoiceButton::minimumSizeHint() const
{
    return {scaled(84), scaled(kHeight)};
}

void ChoiceButton::openMenu()
{
    QMenu menu(this);
    menu.setAccessibleName(m_name);
    menu.setToolTipsVisible(true);
    for (const Choice& choice : m_choices) {
        if (choice.separatorBefore)
            menu.addSeparator();
        QAction* action = menu.addAction(choice.label);
        action->setCheckable(true);
        action->setChecked(choice.value == m_value);
        action->setData(choice.value);
        action->setToolTip(choice.detail);
    }
    menu.setMinimumWidth(width());
    // Above where the bar is at the bottom of the window: the menu decides by the screen.
    if (const QAction* picked = menu.exec(mapToGlobal(QPoint(0, height() + 2))))
        choose(picked->data().toString());
}

void ChoiceButton::choose(const QString& value)
{
    if (value == m_value)
        return;
    setValue(value);
    emit chosen(value);
}

void ChoiceButton::step(int by)
{
    if (m_choices.empty())
        return;
    const auto found = std::find_if(m_choices.begin(), m_choices.end(),
                                    [this](const Choice& choice) { return choice.value == m_value; });
    const int now = found == m_choices.end() ? 0 : static_cast<int>(found - m_choices.begin());
    const int next = std::clamp(now + by, 0, static_cast<int>(m_choices.size()) - 1);
    choose(m_choices[static_cast<std::size_t>(next)].value);
}

void ChoiceButton::keyPressEvent(QKeyEvent* event)
{
    switch (event->key()) {
    case Qt::Key_Down:
        step(1);
        return;
    case Qt::Key_Up:
        step(-1);
        return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
        openMenu();
        return;
    default:
        QAbstractButton::keyPressEvent(event);
    }
}

void ChoiceButton::wheelEvent(QWheelEvent* event)
{
    // Scrolling past must never change a setting.
    event->ignore();
}

bool ChoiceButton::event(QEvent* event)
{
    if (event->type() == QEvent::HoverEnter || event->type() == QEvent::HoverLeave || event->type() == QEvent::Enter ||
        event->type() == QEvent::Leave)
        update();
    return QAbstractButton::event(event);
}

void ChoiceButton::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Palette& colors = colorsOf(this);
    const QRectF box = rect();
    drawBox(painter, box, 6, underMouse() && isEnabled() ? mixed(colors.bg, colors.line, 0.35) : colors.bg,
            colors.line);
    if (hasFocus())
        drawFocusRing(painter, box, 6, colors);
    painter.setFont(roleFont(FontRole::Body));
    painter.setPen(isEnabled() ? colors.text : colors.faint);
    const double chevron = scaled(kChevron);
    const QRectF text = box.adjusted(kSpace2, 0, -(chevron + kSpace2 + kSpace1), 0);
    painter.drawText(text, Qt::AlignLeft | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(label(), Qt::ElideRight, static_cast<int>(text.width())));
    drawIcon(painter, QRectF(box.right() - chevron - kSpace2, box.center().y() - chevron / 2, chevron, chevron),
             QStringLiteral("down"), colors.dim);
}

}  // namespace tokenscope::ui
