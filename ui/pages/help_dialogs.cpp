#include "ui/pages/help_dialogs.h"

#include "ui/theme/fonts.h"
#include "ui/theme/icons.h"
#include "ui/theme/palette.h"
#include "ui/widgets/card.h"
#include "ui/widgets/pill_button.h"
#include "ui/widgets/text_label.h"

#include <QGridLayout>
#include <QHBoxLayout>
#include <QPlainTextEdit>
#include <QScrollArea>
#include <QVBoxLayout>

#include <algorithm>

namespace tokenscope::ui {
namespace {

void addClose(QDialog* dialog, QVBoxLayout* column)
{
    auto* row = new QHBoxLayout;
    row->addStretch(1);
    auto* close = new PillButton(PillButton::Kind::Primary, QDialog::tr("Close"), dialog);
    close->setDefault(true);
    row->addWidget(close);
    column->addLayout(row);
    QObject::connect(close, &QPushButton::clicked, dialog, &QDialog::accept);
}

QGridLayout* addGroup(QVBoxLayout* column, const QString& title, QWidget* parent)
{
    column->addWidget(new TextLabel(title, FontRole::SmallStrong, &Palette::dim, parent));
    auto* card = new Card(parent);
    auto* grid = new QGridLayout(card);
    grid->setContentsMargins(14, 8, 14, 8);
    grid->setVerticalSpacing(5);
    grid->setColumnStretch(0, 1);
    column->addWidget(card);
    column->addSpacing(6);
    return grid;
}

}  // namespace

ShortcutsDialog::ShortcutsDialog(const std::vector<ShortcutEntry>& entries, QWidget* parent) : QDialog(parent)
{
    setWindowTitle(tr("Keyboard shortcuts"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(20, 18, 20, 16);
    column->setSpacing(10);
    column->addWidget(new TextLabel(tr("Keyboard shortcuts"), FontRole::Title, &Palette::text, this));
    auto* area = new QScrollArea(this);
    area->setAccessibleName(tr("Keyboard shortcuts"));
    area->setFrameShape(QFrame::NoFrame);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setWidgetResizable(true);
    area->viewport()->setBackgroundRole(QPalette::Window);
    auto* list = new QWidget(area);
    auto* halves = new QHBoxLayout(list);
    halves->setContentsMargins(0, 0, 8, 0);
    halves->setSpacing(14);
    QVBoxLayout* sides[2] = {new QVBoxLayout, new QVBoxLayout};
    for (QVBoxLayout* side : sides) {
        side->setSpacing(4);
        halves->addLayout(side, 1);
    }
    QString group;
    QGridLayout* grid = nullptr;
    std::size_t placed = 0;
    for (const ShortcutEntry& entry : entries) {
        if (!grid || entry.group != group) {
            group = entry.group;
            grid = addGroup(sides[2 * placed >= entries.size() ? 1 : 0], group, list);
        }
        const int row = grid->rowCount();
        grid->addWidget(new TextLabel(entry.text, FontRole::Body, &Palette::text, list), row, 0);
        grid->addWidget(new TextLabel(entry.keys, FontRole::Small, &Palette::dim, list), row, 1, Qt::AlignRight);
        ++placed;
    }
    for (QVBoxLayout* side : sides)
        side->addStretch(1);
    area->setWidget(list);
    column->addWidget(area, 1);
    addClose(this, column);
    resize(scaled(840), scaled(680));
}

AboutDialog::AboutDialog(const QString& version, QWidget* parent) : QDialog(parent)
{
    setWindowTitle(tr("About Tokenscope"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(24, 20, 24, 18);
    column->setSpacing(8);
    auto* head = new QHBoxLayout;
    head->setSpacing(12);
    auto* logo = new QLabel(this);
    logo->setPixmap(iconPixmap(QStringLiteral("logo"), colorsOf(this).accent, 44, devicePixelRatioF()));
    head->addWidget(logo);
    auto* names = new QVBoxLayout;
    names->setSpacing(0);
    names->addWidget(new TextLabel(tr("Tokenscope %1").arg(version), FontRole::Big, &Palette::text, this));
    names->addWidget(new TextLabel(tr("An oscilloscope for tokens"), FontRole::Body, &Palette::dim, this));
    head->addLayout(names, 1);
    column->addLayout(head);
    auto* licence =
        new TextLabel(tr("Free software under the GNU General Public License, version 3. It comes with no warranty. "
                         "It opens no network connection; the starter model is fetched only when you ask for it."),
                      FontRole::Body, &Palette::text, this);
    licence->setWordWrap(true);
    column->addWidget(licence);
    column->addWidget(new TextLabel(tr("Made with"), FontRole::SmallStrong, &Palette::dim, this));
    auto* parts = new QPlainTextEdit(this);
    parts->setAccessibleName(tr("Libraries and their licences"));
    parts->setReadOnly(true);
    parts->setTabChangesFocus(true);
    parts->setPlainText(
        tr("Qt %1 (LGPL-3.0), Qt Charts (GPL-3.0)\nSQLite (public domain)\nspdlog, fmt (MIT)\nnlohmann-json (MIT)\n"
           "PCRE2 (BSD-3-Clause)\nOpenSSL (Apache-2.0)\nxxHash (BSD-2-Clause)\ntl-expected (CC0)\nCLI11 "
           "(BSD-3-Clause)\n"
           "Inter, JetBrains Mono (OFL-1.1)")
            .arg(QString::fromLatin1(qVersion())));
    column->addWidget(parts, 1);
    addClose(this, column);
    resize(scaled(460), scaled(420));
}

}  // namespace tokenscope::ui
