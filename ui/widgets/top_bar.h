// The bar over everything: what is loaded, whether it fits, how far a load is, and the way to another model.
#pragma once

#include "ui/models/model_controller.h"
#include "ui/theme/palette.h"
#include "ui/widgets/card.h"

class QHBoxLayout;
class QMenu;

namespace tokenscope::ui {

class PillButton;

// Name in strong letters, details dim, both in a rounded frame; shows the progress of a load as a line along its foot.
class ModelPill : public QWidget {
    Q_OBJECT

public:
    explicit ModelPill(QWidget* parent = nullptr);

    void setTexts(const QString& name, const QString& details);
    void setColor(ColorRole details);
    void setProgress(double share);  // below 0: none
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

signals:
    void clicked();

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;

private:
    bool m_ring = false;  // the focus came by the keyboard
    QString m_name, m_details;
    ColorRole m_detailColor = &Palette::dim;
    double m_progress = -1.0;
};

class TopBar : public Bar {
    Q_OBJECT

public:
    TopBar(ModelController& model, QWidget* parent = nullptr);

    void setMenus(QMenu* modelMenu, QMenu* mainMenu);
    void addButton(QWidget* button);  // left of "Open model…"; for Freeze and the like
    void openMainMenu();

signals:
    void openRequested();

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void show(const ModelController& model);

    ModelController& m_model;
    ModelPill* m_pill;
    ModelPill* m_fit;
    PillButton* m_cancel;
    PillButton* m_open;
    PillButton* m_menu;
    QHBoxLayout* m_buttons;
    QMenu* m_modelMenu = nullptr;
    QMenu* m_mainMenu = nullptr;
};

// "llama · Q4_1 · 5.7 bits a weight · 92 MiB · 8k context"
QString modelDetails(const ModelInfo& info, int context);
// "fits: 92 MiB + 180 MiB cache of 21.3 GiB free"
QString budgetText(const MemoryBudget& budget);

}  // namespace tokenscope::ui
