#include "ui/pages/first_page.h"

#include "ui/models/background.h"
#include "ui/theme/fonts.h"
#include "ui/widgets/card.h"
#include "ui/widgets/format.h"
#include "ui/widgets/notice_bar.h"
#include "ui/widgets/painting.h"
#include "ui/widgets/pill_button.h"
#include "ui/widgets/progress_line.h"
#include "ui/widgets/text_label.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace tokenscope::ui {
namespace {

const QString kStarterFile = QStringLiteral("SmolLM2-135M-Instruct.Q4_1.gguf");
constexpr int kMostShown = 6;  // more are a scroll of their own; the open dialog finds the rest

class StepNumber : public QWidget {
public:
    StepNumber(int number, QWidget* parent) : QWidget(parent), m_number(number)
    {
        setFixedSize(scaled(26), scaled(26));
    }

protected:
    void paintEvent(QPaintEvent*) override
    {
        QPainter painter(this);
        const Palette& colors = colorsOf(this);
        drawBox(painter, rect(), height() / 2.0, colors.accentSoft);
        painter.setFont(roleFont(FontRole::BodyStrong));
        painter.setPen(colors.accent);
        painter.drawText(rect(), Qt::AlignCenter, QString::number(m_number));
    }

private:
    int m_number;
};

QString sizeText(const ModelInfo& info)
{
    QStringList parts{QString::fromStdString(info.mainType), bytesText(info.fileBytes)};
    parts.removeAll(QString());
    return parts.join(QStringLiteral(" · "));
}

}  // namespace

FirstPage::FirstPage(std::filesystem::path modelsFolder, AppSettings& settings, Preferences& preferences,
                     QWidget* parent, const QString& fetchScript)
    : QScrollArea(parent), m_modelsFolder(std::move(modelsFolder)), m_settings(settings), m_preferences(preferences),
      m_fetcher(fetchScript)
{
    setFrameShape(QFrame::NoFrame);
    setWidgetResizable(true);
    setFocusPolicy(Qt::NoFocus);
    viewport()->setBackgroundRole(QPalette::Window);
    auto* page = new QWidget(this);
    auto* column = new QVBoxLayout(page);
    column->setContentsMargins(32, 24, 32, 24);
    auto* row = new QHBoxLayout;
    row->setSpacing(40);
    row->addStretch(1);
    row->addWidget(makeAbout(), 0, Qt::AlignVCenter);
    auto* cards = new QVBoxLayout;
    cards->setSpacing(12);
    cards->addWidget(makeStarter());
    cards->addWidget(makeDrop());
    cards->addWidget(makeFound());
    auto* right = new QWidget(page);
    right->setLayout(cards);
    cards->setContentsMargins(0, 0, 0, 0);
    right->setMinimumWidth(380);
    right->setMaximumWidth(scaled(440));
    row->addWidget(right, 3, Qt::AlignVCenter);
    row->addStretch(1);
    m_notice = new NoticeBar(page);
    column->addWidget(m_notice);
    column->addStretch(2);
    column->addLayout(row);
    column->addStretch(3);
    setWidget(page);

    connect(&m_fetcher, &ModelFetcher::progressed, this, &FirstPage::showFetch);
    connect(&m_fetcher, &ModelFetcher::finished, this, [this] {
        showFetch();
        rescan();
        emit loadRequested(starterPath());
    });
    connect(&m_fetcher, &ModelFetcher::failed, this, [this](const QString& sentence) {
        showFetch();
        m_getHint->setColor(sentence.isEmpty() ? &Palette::dim : &Palette::bad);
        m_getHint->setText(sentence.isEmpty() ? tr("cancelled; what was fetched is kept for the next try") : sentence);
    });
    showFetch();
    rescan();
}

QString FirstPage::starterPath() const
{
    return QString::fromStdString((m_modelsFolder / kStarterFile.toStdString()).string());
}

QWidget* FirstPage::makeAbout()
{
    auto* about = new QWidget(this);
    about->setMaximumWidth(scaled(420));
    about->setMinimumWidth(300);
    auto* column = new QVBoxLayout(about);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(4);
    const auto paragraph = [about](const QString& text) {
        auto* label = new TextLabel(text, FontRole::Body, &Palette::dim, about);
        label->setWordWrap(true);
        return label;
    };
    column->addWidget(new TextLabel(tr("An oscilloscope for tokens"), FontRole::Headline, &Palette::text, about));
    column->addWidget(
        paragraph(tr("Load a model, ask it something, and see where every millisecond of the answer goes.")));
    column->addSpacing(18);
    const QString steps[][2] = {
        {tr("Talk to a model on this machine"),
         tr("It runs inside this window. Nothing leaves the machine; the network stays off.")},
        {tr("Watch where the time goes"),
         tr("Time to first token, every gap between tokens, the cache, the memory bandwidth.")},
        {tr("Change one thing and see"),
         tr("Context, threads, instruction set, cache format, sampling: measured, and saved with the run.")}};
    for (int i = 0; i < 3; ++i) {
        auto* row = new QHBoxLayout;
        row->setSpacing(12);
        row->addWidget(new StepNumber(i + 1, about), 0, Qt::AlignTop);
        auto* words = new QVBoxLayout;
        words->setSpacing(1);
        words->addWidget(new TextLabel(steps[i][0], FontRole::BodyStrong, &Palette::text, about));
        words->addWidget(paragraph(steps[i][1]));
        row->addLayout(words, 1);
        column->addLayout(row);
        column->addSpacing(10);
    }
    return about;
}

Card* FirstPage::makeStarter()
{
    auto* card = new Card(this);
    auto* column = new QVBoxLayout(card);
    column->setContentsMargins(18, 16, 18, 16);
    column->setSpacing(4);
    column->addWidget(new TextLabel(tr("Starter model"), FontRole::Title, &Palette::text, card));
    column->addWidget(
        new TextLabel(tr("SmolLM2-135M-Instruct · Q4_1 · 94 MiB · Apache-2.0"), FontRole::Body, &Palette::dim, card));
    column->addWidget(new TextLabel(tr("small and quick; good for a first look"), FontRole::Body, &Palette::dim, card));
    column->addSpacing(8);
    auto* row = new QHBoxLayout;
    row->setSpacing(10);
    m_get = new PillButton(PillButton::Kind::Primary, tr("Get it"), card);
    m_get->setAccessibleName(tr("Fetch the starter model"));
    m_getHint = new TextLabel(tr("one download, its hash is checked"), FontRole::Body, &Palette::dim, card);
    m_getHint->setWordWrap(true);
    row->addWidget(m_get, 0, Qt::AlignTop);
    row->addWidget(m_getHint, 1);
    column->addLayout(row);
    m_progressRow = new QWidget(card);
    auto* progress = new QGridLayout(m_progressRow);
    progress->setContentsMargins(0, 10, 0, 0);
    progress->setVerticalSpacing(8);
    m_progress = new ProgressLine(m_progressRow);
    m_progress->setAccessibleName(tr("Progress of the download"));
    m_progressText = new TextLabel(QString(), FontRole::Body, &Palette::dim, m_progressRow);
    m_cancel = new PillButton(PillButton::Kind::Secondary, tr("Cancel"), m_progressRow);
    m_cancel->setAccessibleName(tr("Cancel the download"));
    progress->addWidget(m_progress, 0, 0, 1, 2);
    progress->addWidget(m_progressText, 1, 0);
    progress->addWidget(m_cancel, 1, 1, Qt::AlignRight);
    column->addWidget(m_progressRow);
    connect(m_cancel, &QPushButton::clicked, &m_fetcher, &ModelFetcher::cancel);
    connect(m_get, &QPushButton::clicked, this, [this] {
        m_getHint->setColor(&Palette::dim);
        m_getHint->setText(tr("one download, its hash is checked"));
        m_fetcher.start(QStringLiteral("smollm2"), QString::fromStdString(m_modelsFolder.string()));
    });
    return card;
}

void FirstPage::showFetch()
{
    const bool running = m_fetcher.running();
    // The focus moves to the button that can be pressed next, before the other one loses it to a stranger.
    const bool focused = m_get->hasFocus() || m_cancel->hasFocus();
    if (!running) {
        m_get->setEnabled(true);
        if (focused)
            m_get->setFocus(Qt::OtherFocusReason);
        m_progressRow->hide();
        return;
    }
    m_progressRow->show();
    if (m_get->hasFocus())
        m_cancel->setFocus(Qt::OtherFocusReason);
    m_get->setEnabled(false);
    const qint64 done = m_fetcher.done(), total = m_fetcher.total();
    m_progress->setShare(total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0.0);
    QString text =
        total > 0 ? tr("%1 of %2")
                        .arg(bytesText(static_cast<std::uint64_t>(done)), bytesText(static_cast<std::uint64_t>(total)))
                  : tr("starting");
    if (total > 0 && done >= total)
        text = tr("checking and unpacking");
    else if (const double left = m_fetcher.secondsLeft(); left >= 0)
        text += QStringLiteral(" · ") + tr("%1 s left").arg(std::ceil(left));
    m_progressText->setText(text);
}

Card* FirstPage::makeDrop()
{
    m_dropCard = new Card(this);
    m_dropCard->setDashed(true);
    auto* column = new QVBoxLayout(m_dropCard);
    column->setContentsMargins(18, 16, 18, 14);
    column->setSpacing(4);
    column->addWidget(new TextLabel(tr("Drop a .gguf file here"), FontRole::BodyStrong, &Palette::text, m_dropCard), 0,
                      Qt::AlignHCenter);
    column->addWidget(
        new TextLabel(tr("or open one, or point to a folder with models"), FontRole::Body, &Palette::dim, m_dropCard),
        0, Qt::AlignHCenter);
    auto* row = new QHBoxLayout;
    row->setSpacing(6);
    auto* open = new PillButton(PillButton::Kind::Secondary, tr("Open file…"), m_dropCard);
    auto* folder = new PillButton(PillButton::Kind::Secondary, tr("Add folder…"), m_dropCard);
    row->addStretch(1);
    row->addWidget(open);
    row->addWidget(folder);
    row->addStretch(1);
    column->addLayout(row);
    connect(open, &QPushButton::clicked, this, &FirstPage::openRequested);
    connect(folder, &QPushButton::clicked, this, &FirstPage::addFolder);
    return m_dropCard;
}

Card* FirstPage::makeFound()
{
    m_foundCard = new Card(this);
    auto* column = new QVBoxLayout(m_foundCard);
    column->setContentsMargins(18, 14, 18, 14);
    column->setSpacing(4);
    column->addWidget(new TextLabel(tr("Found on this machine"), FontRole::BodyStrong, &Palette::text, m_foundCard));
    m_foundRows = new QVBoxLayout;
    m_foundRows->setSpacing(0);
    column->addLayout(m_foundRows);
    m_foundCard->hide();
    return m_foundCard;
}

void FirstPage::setDropHighlighted(bool highlighted)
{
    m_dropCard->setHighlighted(highlighted);
}

void FirstPage::addFolder()
{
    const QString folder = QFileDialog::getExistingDirectory(this, tr("Folder with models"));
    if (folder.isEmpty())
        return;
    m_preferences.addModelFolder(folder);
    rescan();
}

void FirstPage::rescan()
{
    std::vector<std::filesystem::path> folders{m_modelsFolder};
    for (const QString& folder : m_preferences.modelFolders())
        folders.push_back(folder.toStdString());
    const EngineSettings settings = m_settings.settings().engine;
    runInBackground(
        this,
        [folders, settings] {
            std::vector<FoundModel> found;
            for (LibraryEntry& entry : scanModels(folders)) {
                FoundModel model{std::move(entry), {}, {}};
                if (model.entry.problem.empty() && model.entry.info.runnable) {
                    Result<MemoryBudget> budget = budgetForFile(model.entry.info.path, settings);
                    if (budget)
                        model.budget = *budget;
                    else
                        model.whyNot = QString::fromStdString(budget.error().message);
                }
                found.push_back(std::move(model));
            }
            return found;
        },
        [this, scan = ++m_scan](std::vector<FoundModel> found) {
            if (scan == m_scan)
                setFound(std::move(found));
        });
}

void FirstPage::setFound(std::vector<FoundModel> found)
{
    while (QLayoutItem* item = m_foundRows->takeAt(0)) {
        if (item->widget())
            item->widget()->deleteLater();
        delete item;
    }
    // What can be loaded first.
    std::stable_sort(found.begin(), found.end(), [](const FoundModel& a, const FoundModel& b) {
        return a.budget.has_value() > b.budget.has_value();
    });
    const int shown = std::min(static_cast<int>(found.size()), kMostShown);
    for (int i = 0; i < shown; ++i) {
        const FoundModel& model = found[static_cast<std::size_t>(i)];
        const ModelInfo& info = model.entry.info;
        if (i > 0)
            m_foundRows->addWidget(new Hairline(Qt::Horizontal, m_foundCard));
        auto* line = new QWidget(m_foundCard);
        auto* row = new QHBoxLayout(line);
        row->setContentsMargins(8, 4, 0, 4);
        row->setSpacing(10);
        const QString path = QString::fromStdString(info.path);
        auto* name = new TextLabel(modelTitle(path, QString::fromStdString(info.mainType)), FontRole::BodyStrong,
                                   &Palette::text, line);
        name->setElided(true);
        name->setToolTip(path);
        row->addWidget(name, 3);
        auto* size = new TextLabel(sizeText(info), FontRole::Body, &Palette::dim, line);
        row->addWidget(size, 0);
        QString verdict, why;
        ColorRole color = &Palette::dim;
        bool loadable = false;
        if (!model.entry.problem.empty()) {
            verdict = tr("cannot be read");
            why = QString::fromStdString(model.entry.problem);
        } else if (!info.runnable) {
            verdict = tr("cannot be run");
            why = QString::fromStdString(info.whyNotRunnable);
        } else if (!model.budget) {
            verdict = tr("does not fit");
            why = model.whyNot;
            color = &Palette::bad;
        } else {
            loadable = model.budget->fits();
            verdict = !loadable ? tr("does not fit")
                      : model.budget->context < std::min(info.trainedContext, 4096)
                          ? tr("fits at %1").arg(tokensText(model.budget->context))
                          : tr("fits");
            color = loadable ? &Palette::good : &Palette::bad;
        }
        auto* fit = new TextLabel(verdict, FontRole::BodyStrong, color, line);
        fit->setToolTip(why);
        fit->setMinimumWidth(scaled(74));
        row->addWidget(fit, 0);
        auto* load = new PillButton(PillButton::Kind::Link, tr("Load"), line);
        load->setAccessibleName(tr("Load %1").arg(name->text()));
        load->setVisible(loadable);
        connect(load, &QPushButton::clicked, this, [this, path] { emit loadRequested(path); });
        row->addWidget(load);
        if (!loadable)
            row->addSpacing(load->sizeHint().width() + 10);
        m_foundRows->addWidget(line);
        if (!why.isEmpty()) {
            auto* reason = new TextLabel(why, FontRole::Small, &Palette::dim, m_foundCard);
            reason->setWordWrap(true);
            reason->setContentsMargins(8, 0, 8, 6);
            m_foundRows->addWidget(reason);
        }
    }
    if (static_cast<int>(found.size()) > shown)
        m_foundRows->addWidget(
            new TextLabel(tr("and %1 more; “Open file…” shows them").arg(static_cast<int>(found.size()) - shown),
                          FontRole::Small, &Palette::faint, m_foundCard));
    m_foundCard->setVisible(!found.empty());
}

}  // namespace tokenscope::ui
