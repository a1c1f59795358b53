// A line to type into, with an icon and a clear button; Esc empties it, then gives the focus back.
#pragma once

#include <QLineEdit>

namespace tokenscope::ui {

class SearchField : public QLineEdit {
    Q_OBJECT

public:
    explicit SearchField(const QString& placeholder, QWidget* parent = nullptr);

    QSize sizeHint() const override;

signals:
    void escaped();  // Esc in the empty field
    void downPressed();

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void restyle();
    bool m_restyling = false;
};

}  // namespace tokenscope::ui
