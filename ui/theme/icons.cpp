#include "ui/theme/icons.h"

#include "ui/theme/palette.h"

#include <QFile>
#include <QHash>
#include <QPainter>
#include <QSvgRenderer>
#include <QWidget>

// A static library's resources are only linked in when they are asked for, outside any namespace.
static void initialiseResources()
{
    Q_INIT_RESOURCE(tokenscope);
}

namespace tokenscope::ui {
namespace {

QByteArray source(const QString& name)
{
    static QHash<QString, QByteArray> read;  // GUI thread only
    if (read.isEmpty())
        initialiseResources();
    auto it = read.find(name);
    if (it == read.end()) {
        QFile file(QStringLiteral(":/icons/%1.svg").arg(name));
        it = read.insert(name, file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray());
    }
    return *it;
}

}  // namespace

bool hasIcon(const QString& name)
{
    return !source(name).isEmpty();
}

void drawIcon(QPainter& painter, const QRectF& place, const QString& name, const QColor& color)
{
    QByteArray svg = source(name);
    if (svg.isEmpty())
        return;
    svg.replace("#000", color.name(QColor::HexRgb).toLatin1());
    QSvgRenderer renderer(svg);
    painter.save();
    painter.setOpacity(painter.opacity() * color.alphaF());
    renderer.render(&painter, place);
    painter.restore();
}

QPixmap iconPixmap(const QString& name, const QColor& color, int logicalSize, qreal devicePixelRatio)
{
    const int pixels = qRound(logicalSize * devicePixelRatio);
    QPixmap pixmap(pixels, pixels);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    drawIcon(painter, QRectF(0, 0, pixels, pixels), name, color);
    painter.end();
    pixmap.setDevicePixelRatio(devicePixelRatio);
    return pixmap;
}

QIcon menuIcon(const QString& name, const QWidget* widget)
{
    const Palette& colors = colorsOf(widget);
    QIcon icon;
    for (const qreal ratio : {1.0, 2.0, 3.0}) {
        icon.addPixmap(iconPixmap(name, colors.dim, 16, ratio), QIcon::Normal);
        icon.addPixmap(iconPixmap(name, colors.faint, 16, ratio), QIcon::Disabled);
    }
    return icon;
}

}  // namespace tokenscope::ui
