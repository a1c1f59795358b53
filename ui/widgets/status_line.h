// The foot of the window: device, ceiling, memory, the last saved run; that the network is off. Numbers keep their
// place while they change.
#pragma once

#include "ui/widgets/card.h"

#include <QString>

#include <vector>

namespace tokenscope::ui {

class StatusLine : public Bar {
    Q_OBJECT

public:
    enum class Field { Device, Ceiling, Memory, Run };

    explicit StatusLine(QWidget* parent = nullptr);

    // Empty: the field is left out. `definition` is shown on hover.
    void setField(Field field, const QString& text, const QString& definition = {});
    void setReady(bool ready);  // the dot before the device: a model can answer

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    struct Entry {
        QString text, definition;
        QRectF place;
    };
    void describe();

    std::vector<Entry> m_entries;
    bool m_ready = false;
};

}  // namespace tokenscope::ui
