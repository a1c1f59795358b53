#include "ui/theme/style.h"

#include "ui/theme/metrics.h"
#include "ui/theme/palette.h"

#include <QPainter>
#include <QStyleOption>
#include <QWidget>

#include <algorithm>

namespace tokenscope::ui {
namespace {

constexpr int kScrollExtent = 12;
constexpr int kSmallestHandle = 28;

void drawScrollBar(const QStyleOptionSlider& option, const QRect& handle, QPainter& painter)
{
    if (option.minimum == option.maximum)
        return;
    const Palette& colors = colorsOf(option.palette);
    QColor fill = colors.faint;
    const bool pressed = option.state & QStyle::State_Sunken;
    const bool hovered = option.state & QStyle::State_MouseOver;
    fill.setAlpha(pressed ? 190 : hovered ? 140 : 85);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(fill);
    const QRectF bar = QRectF(handle).adjusted(3, 3, -3, -3);
    const double radius = std::min(bar.width(), bar.height()) / 2;
    painter.drawRoundedRect(bar, radius, radius);
    painter.restore();
}

}  // namespace

Style::Style() : QProxyStyle(QStringLiteral("Fusion")) {}

int Style::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const
{
    switch (metric) {
    case PM_ScrollBarExtent:
        return kScrollExtent;
    case PM_ScrollBarSliderMin:
        return kSmallestHandle;
    case PM_SplitterWidth:
        return 1;
    case PM_ToolTipLabelFrameWidth:
        return 6;
    case PM_MenuPanelWidth:
        return 1;
    case PM_MenuVMargin:
    case PM_MenuHMargin:
        return 4;
    case PM_ButtonShiftHorizontal:
    case PM_ButtonShiftVertical:
        return 0;
    default:
        return QProxyStyle::pixelMetric(metric, option, widget);
    }
}

int Style::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                     QStyleHintReturn* returnData) const
{
    if (hint == SH_ScrollBar_Transient)
        return 0;
    if (hint == SH_ToolTip_WakeUpDelay)
        return 350;
    return QProxyStyle::styleHint(hint, option, widget, returnData);
}

QRect Style::subControlRect(ComplexControl control, const QStyleOptionComplex* option, SubControl part,
                            const QWidget* widget) const
{
    const auto* slider = qstyleoption_cast<const QStyleOptionSlider*>(option);
    if (control != CC_ScrollBar || !slider)
        return QProxyStyle::subControlRect(control, option, part, widget);
    // No arrows: the groove is the whole bar.
    const bool horizontal = slider->orientation == Qt::Horizontal;
    const int length = horizontal ? slider->rect.width() : slider->rect.height();
    const qint64 range = qint64{slider->maximum} - slider->minimum;
    const int handle =
        range > 0 ? static_cast<int>(std::clamp<qint64>(qint64{length} * slider->pageStep / (range + slider->pageStep),
                                                        std::min(kSmallestHandle, length), length))
                  : length;
    const int start = sliderPositionFromValue(slider->minimum, slider->maximum, slider->sliderPosition, length - handle,
                                              slider->upsideDown);
    const auto piece = [&](int from, int extent) {
        return horizontal ? QRect(slider->rect.x() + from, slider->rect.y(), extent, slider->rect.height())
                          : QRect(slider->rect.x(), slider->rect.y() + from, slider->rect.width(), extent);
    };
    switch (part) {
    case SC_ScrollBarGroove:
        return slider->rect;
    case SC_ScrollBarSlider:
        return piece(start, handle);
    case SC_ScrollBarSubPage:
        return piece(0, start);
    case SC_ScrollBarAddPage:
        return piece(start + handle, length - start - handle);
    default:
        return {};
    }
}

void Style::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter,
                               const QWidget* widget) const
{
    const auto* slider = qstyleoption_cast<const QStyleOptionSlider*>(option);
    if (control == CC_ScrollBar && slider) {
        drawScrollBar(*slider, subControlRect(control, option, SC_ScrollBarSlider, widget), *painter);
        return;
    }
    QProxyStyle::drawComplexControl(control, option, painter, widget);
}

void Style::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                          const QWidget* widget) const
{
    const Palette& colors = colorsOf(option->palette);
    if (element == PE_FrameMenu || element == PE_PanelMenu || element == PE_PanelTipLabel) {
        painter->save();
        painter->setPen(colors.line);
        painter->setBrush(colors.raised);
        painter->drawRect(option->rect.adjusted(0, 0, -1, -1));
        painter->restore();
        return;
    }
    const auto* frame = qstyleoption_cast<const QStyleOptionFrame*>(option);
    if (element == PE_PanelLineEdit && frame && frame->lineWidth > 0) {
        const bool focused = option->state & State_HasFocus;
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        painter->setPen(QPen(focused ? colors.accent : colors.line, focused ? 1.5 : 1.0));
        painter->setBrush(colors.panel);
        painter->drawRoundedRect(QRectF(option->rect).adjusted(0.75, 0.75, -0.75, -0.75), kRadius - 2, kRadius - 2);
        painter->restore();
        return;
    }
    if (element == PE_PanelScrollAreaCorner)
        return;
    if (element == PE_FrameFocusRect) {
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        painter->setPen(QPen(colors.accent, 1.5));
        painter->setBrush(Qt::NoBrush);
        painter->drawRoundedRect(QRectF(option->rect).adjusted(1, 1, -1, -1), kRadius - 2, kRadius - 2);
        painter->restore();
        return;
    }
    QProxyStyle::drawPrimitive(element, option, painter, widget);
}

void Style::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                        const QWidget* widget) const
{
    if (element == CE_Splitter) {
        painter->fillRect(option->rect, colorsOf(option->palette).line);
        return;
    }
    const auto* item = qstyleoption_cast<const QStyleOptionMenuItem*>(option);
    if (element == CE_MenuItem && item && item->menuItemType == QStyleOptionMenuItem::Separator) {
        const Palette& colors = colorsOf(item->palette);
        painter->fillRect(item->rect, colors.raised);
        painter->fillRect(QRect(item->rect.left() + 8, item->rect.center().y(), item->rect.width() - 16, 1),
                          colors.line);
        return;
    }
    if (element == CE_MenuItem && item && item->menuItemType != QStyleOptionMenuItem::Separator) {
        // The soft selection of the lists instead of Fusion's solid bar.
        QStyleOptionMenuItem quiet = *item;
        const Palette& colors = colorsOf(item->palette);
        painter->fillRect(item->rect, colors.raised);
        if (item->state & State_Selected && item->state & State_Enabled) {
            painter->save();
            painter->setRenderHint(QPainter::Antialiasing);
            painter->setPen(Qt::NoPen);
            painter->setBrush(colors.accentSoft);
            painter->drawRoundedRect(QRectF(item->rect).adjusted(1, 0, -1, 0), 5, 5);
            painter->restore();
        }
        quiet.state &= ~State_Selected;
        QProxyStyle::drawControl(element, &quiet, painter, widget);
        return;
    }
    QProxyStyle::drawControl(element, option, painter, widget);
}

QSize Style::sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& contents,
                              const QWidget* widget) const
{
    QSize size = QProxyStyle::sizeFromContents(type, option, contents, widget);
    const auto* item = qstyleoption_cast<const QStyleOptionMenuItem*>(option);
    if (type == CT_LineEdit)
        size += QSize(8, 6);
    if (type == CT_MenuItem && item && item->menuItemType != QStyleOptionMenuItem::Separator)
        size += QSize(16, 6);
    return size;
}

}  // namespace tokenscope::ui
