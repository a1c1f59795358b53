// The overview of shortcuts (F1) and About.
#pragma once

#include <QDialog>
#include <QString>

#include <vector>

namespace tokenscope::ui {

struct ShortcutEntry {
    QString group, text, keys;
};

class ShortcutsDialog : public QDialog {
    Q_OBJECT

public:
    explicit ShortcutsDialog(const std::vector<ShortcutEntry>& entries, QWidget* parent = nullptr);
};

class AboutDialog : public QDialog {
    Q_OBJECT

public:
    explicit AboutDialog(const QString& version, QWidget* parent = nullptr);
};

}  // namespace tokenscope::ui
