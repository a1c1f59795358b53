#include "ui/widgets/top_bar.h"

#include "ui/theme/fonts.h"
#include "ui/theme/icons.h"
#include "ui/widgets/format.h"
#include "ui/widgets/painting.h"
#include "ui/widgets/pill_button.h"
#include "ui/widgets/text_label.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainterPath>

namespace tokenscope::ui {
namespace {

constexpr int kBarHeight = 46;

class Logo : public QWidget {
public:
    explicit Logo(QWidget* parent) : QWidget(parent) { setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed); }

    QSize sizeHint() const override { return {scaled(22), scaled(22)}; }

protected:
    void changeEvent(QEvent* event) override
    {
        QWidget::changeEvent(event);
        if (event->type() == QEvent::FontChange)
            updateGeometry();
    }
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        painter.setRenderHint(QPainter::Antialiasing);
        drawIcon(painter, rect(), QStringLiteral("logo"), colorsOf(this).accent);
    }
};

}  // namespace

QString modelDetails(const ModelInfo& info, int context)
{
    QStringList parts;
    parts << QString::fromStdString(info.architecture) << QString::fromStdString(info.mainType);
    if (info.bitsPerWeight > 0)
        parts << bitsText(info.bitsPerWeight);
    parts << bytesText(info.fileBytes);
    if (context > 0)
        parts << QObject::tr("%1 context").arg(tokensText(context));
    parts.removeAll(QString());
    return parts.join(QStringLiteral(" · "));
}

QString budgetText(const MemoryBudget& budget)
{
    return (budget.fits() ? QObject::tr("fits: %1 + %2 cache of %3 free")
                          : QObject::tr("does not fit: %1 + %2 cache of %3 free"))
        .arg(bytesText(budget.weightBytes + budget.scratchBytes), bytesText(budget.kvBytes),
             bytesText(budget.availableBytes));
}

ModelPill::ModelPill(QWidget* parent) : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    setMinimumWidth(60);
}

void ModelPill::setTexts(const QString& name, const QString& details)
{
    if (name == m_name && details == m_details)
        return;
    m_name = name;
    m_details = details;
    updateGeometry();
    update();
}

void ModelPill::setColor(ColorRole details)
{
    m_detailColor = details;
    update();
}

void ModelPill::setProgress(double share)
{
    m_progress = share;
    update();
}

QSize ModelPill::sizeHint() const
{
    double width = 25;
    if (!m_name.isEmpty())
        width += QFontMetricsF(roleFont(FontRole::BodyStrong)).horizontalAdvance(m_name);
    if (!m_details.isEmpty())
        width += QFontMetricsF(roleFont(FontRole::Body)).horizontalAdvance(m_details) + (m_name.isEmpty() ? 0 : 8);
    return {qRound(width + 1), scaled(28)};
}

QSize ModelPill::minimumSizeHint() const
{
    return {60, scaled(28)};
}

void ModelPill::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        updateGeometry();
}

void ModelPill::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() == Qt::LeftButton && rect().contains(event->position().toPoint()))
        emit clicked();
}

void ModelPill::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Space || event->key() == Qt::Key_Return || event->key() == Qt::Key_Down)
        emit clicked();
    else
        QWidget::keyPressEvent(event);
}

void ModelPill::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    m_ring = byKeyboard(*event);
    update();
}

void ModelPill::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Palette& colors = colorsOf(this);
    drawBox(painter, rect(), kRadius, colors.panel, colors.line);
    if (m_progress >= 0) {
        QPainterPath clip;
        clip.addRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), kRadius, kRadius);
        painter.save();
        painter.setClipPath(clip);
        painter.fillRect(QRectF(0, height() - 3, width(), 3), colors.grid);
        painter.fillRect(QRectF(0, height() - 3, width() * m_progress, 3), colors.accent);
        painter.restore();
    }
    QRectF content = QRectF(rect()).adjusted(12, 0, -12, 0);
    if (!m_name.isEmpty()) {
        painter.setFont(roleFont(FontRole::BodyStrong));
        painter.setPen(colors.text);
        const QString name = painter.fontMetrics().elidedText(m_name, Qt::ElideMiddle, qRound(content.width()));
        painter.drawText(content, Qt::AlignLeft | Qt::AlignVCenter, name);
        content.setLeft(content.left() + QFontMetricsF(painter.font()).horizontalAdvance(name) + 8);
    }
    if (!m_details.isEmpty() && content.width() > 24) {
        painter.setFont(roleFont(FontRole::Body));
        painter.setPen(colors.*m_detailColor);
        const QString details =
            painter.fontMetrics().elidedText(m_details, Qt::ElideRight, qRound(content.width() + 1));
        painter.drawText(content.adjusted(0, 0, 2, 0), Qt::AlignLeft | Qt::AlignVCenter, details);
    }
    if (hasFocus() && m_ring)
        drawFocusRing(painter, rect(), kRadius, colors);
}

TopBar::TopBar(ModelController& model, QWidget* parent) : Bar(Qt::BottomEdge, parent), m_model(model)
{
    setFixedHeight(scaled(kBarHeight));
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(14, 0, 14, 1);
    row->setSpacing(10);
    row->addWidget(new Logo(this));
    row->addWidget(new TextLabel(tr("Tokenscope"), FontRole::Title, &Palette::text, this));
    row->addSpacing(14);

    m_pill = new ModelPill(this);
    m_pill->setObjectName(QStringLiteral("modelPill"));
    m_pill->setFocusPolicy(Qt::TabFocus);
    m_pill->setCursor(Qt::PointingHandCursor);
    row->addWidget(m_pill);
    m_fit = new ModelPill(this);
    row->addWidget(m_fit);
    m_cancel = new PillButton(PillButton::Kind::Secondary, tr("Cancel"), this);
    m_cancel->setAccessibleName(tr("Cancel loading the model"));
    row->addWidget(m_cancel);
    row->addStretch(1);

    m_buttons = new QHBoxLayout;
    m_buttons->setSpacing(8);
    row->addLayout(m_buttons);
    m_open = new PillButton(PillButton::Kind::Secondary, tr("Open model…"), this);
    m_open->setToolTip(tr("Open a .gguf file (Ctrl+O)"));
    row->addWidget(m_open);
    m_menu = PillButton::icon(QStringLiteral("menu"), tr("Menu (F10)"), this);
    row->addWidget(m_menu);

    connect(m_open, &QPushButton::clicked, this, &TopBar::openRequested);
    connect(m_cancel, &QPushButton::clicked, &model, &ModelController::cancel);
    connect(m_menu, &QPushButton::clicked, this, &TopBar::openMainMenu);
    connect(m_pill, &ModelPill::clicked, this, [this] {
        if (m_modelMenu)
            m_modelMenu->popup(m_pill->mapToGlobal(QPoint(0, m_pill->height() + 2)));
    });
    connect(&model, &ModelController::changed, this, [this] { show(m_model); });
    show(model);
}

void TopBar::setMenus(QMenu* modelMenu, QMenu* mainMenu)
{
    m_modelMenu = modelMenu;
    m_mainMenu = mainMenu;
}

void TopBar::addButton(QWidget* button)
{
    m_buttons->addWidget(button);
}

void TopBar::openMainMenu()
{
    if (m_mainMenu)
        m_mainMenu->popup(
            m_menu->mapToGlobal(QPoint(m_menu->width() - m_mainMenu->sizeHint().width(), m_menu->height() + 2)));
}

void TopBar::changeEvent(QEvent* event)
{
    Bar::changeEvent(event);
    if (event->type() == QEvent::FontChange)
        setFixedHeight(scaled(kBarHeight));
}

void TopBar::resizeEvent(QResizeEvent* event)
{
    Bar::resizeEvent(event);
    show(m_model);
}

void TopBar::show(const ModelController& model)
{
    m_cancel->setVisible(model.loading());
    if (model.loading()) {
        m_pill->setTexts(model.displayName(), tr("loading %1 %").arg(qRound(model.fraction() * 100)));
        m_pill->setProgress(model.fraction());
    } else if (model.loaded()) {
        m_pill->setTexts(model.displayName(), modelDetails(model.loaded()->model, model.loaded()->context));
        m_pill->setProgress(-1);
    } else {
        m_pill->setTexts(QString(), tr("No model loaded"));
        m_pill->setProgress(-1);
    }
    // What a narrow window leaves out is said on hover.
    const bool room = width() >= scaled(1180);
    m_fit->setVisible(model.budget().has_value() && room);
    QString tip = model.path();
    if (model.budget()) {
        const QString fit = budgetText(*model.budget());
        m_fit->setTexts(QString(), fit);
        m_fit->setColor(model.budget()->fits() ? &Palette::dim : &Palette::bad);
        m_fit->setToolTip(tr("Weights and scratch, plus the cache for %1 tokens, against the memory that is free")
                              .arg(countText(model.budget()->context)));
        tip += QLatin1Char('\n') + fit;
    }
    if (model.loaded() && !model.loading()) {
        const ModelInfo& info = model.loaded()->model;
        tip = modelDetails(info, model.loaded()->context) + QLatin1Char('\n') +
              tr("Tensors: %1").arg(QString::fromStdString(info.tensorMix)) + QLatin1Char('\n') + tip;
    }
    m_pill->setToolTip(tip);
    m_pill->setAccessibleName(model.loaded() || model.loading() ? tr("Model: %1").arg(model.displayName())
                                                                : tr("No model loaded"));
}

}  // namespace tokenscope::ui
