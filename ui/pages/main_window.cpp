#include "ui/pages/main_window.h"

#include "app/services/machine_service.h"
#include "ui/charts/scope_view.h"
#include "ui/models/background.h"
#include "ui/pages/chat_page.h"
#include "ui/pages/first_page.h"
#include "ui/pages/scope_link.h"
#include "ui/widgets/composer.h"
#include "ui/widgets/control_bar.h"
#include "ui/widgets/conversation_pane.h"
#include "ui/widgets/format.h"
#include "ui/widgets/notice_bar.h"
#include "ui/widgets/pill_button.h"
#include "ui/widgets/rail.h"
#include "ui/widgets/settings_dialog.h"
#include "ui/widgets/status_line.h"
#include "ui/widgets/top_bar.h"
#include "ui/widgets/transcript_view.h"

#include <QCloseEvent>
#include <QDragEnterEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QLocale>
#include <QMimeData>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace tokenscope::ui {
namespace {

constexpr int kLayoutVersion = 1;  // of what is remembered; another one is not restored

bool isModelFile(const QString& path)
{
    return QFileInfo(path).suffix().compare(QLatin1String("gguf"), Qt::CaseInsensitive) == 0;
}

QStringList droppedFiles(const QMimeData* data)
{
    QStringList paths;
    for (const QUrl& url : data->urls())
        if (url.isLocalFile())
            paths << url.toLocalFile();
    return paths;
}

// Resident bytes of this process now; 0 where the system does not tell.
std::uint64_t residentBytes()
{
    QFile file(QStringLiteral("/proc/self/statm"));
    if (!file.open(QIODevice::ReadOnly))
        return 0;
    return file.readLine().split(' ').value(1).toULongLong() * 4096;
}

}  // namespace

MainWindow::MainWindow(const WindowContext& context)
    : m_context(context), m_loadedWith(context.settings.settings().engine)
{
    setWindowTitle(tr("Tokenscope"));
    setAcceptDrops(true);
    setMinimumSize(960, 560);

    auto* central = new QWidget(this);
    auto* column = new QVBoxLayout(central);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    m_top = new TopBar(m_context.model, central);
    column->addWidget(m_top);
    auto* body = new QHBoxLayout;
    body->setSpacing(0);
    auto* rail = new Rail(central);
    rail->addPage(QStringLiteral("chat"), tr("Chat"));
    body->addWidget(rail);
    m_pages = new QStackedWidget(central);
    m_first = new FirstPage(m_context.modelsFolder, m_context.settings, m_context.preferences, m_pages);
    m_chat = new ChatPage(m_context.session, m_context.model, m_pages);
    m_pages->addWidget(m_first);
    m_pages->addWidget(m_chat);
    body->addWidget(m_pages, 1);
    column->addLayout(body, 1);

    const MachineInfo machine = describeMachine();
    QStringList isas;
    for (const std::string& isa : machine.isas)
        isas << QString::fromStdString(isa);
    m_controls = new ControlBar(isas, machine.cores, central);
    m_controls->setSettings(m_context.settings.settings());
    column->addWidget(m_controls);
    m_status = new StatusLine(central);
    column->addWidget(m_status);
    setCentralWidget(central);

    m_scope = new ScopeView(m_chat);
    m_chat->setScope(m_scope);
    m_link = new ScopeLink(*m_scope, m_chat->transcript(), m_context.session, m_context.bridge, this);
    m_freeze = new PillButton(PillButton::Kind::Secondary, tr("Freeze"), m_top);
    m_freeze->setCheckable(true);
    m_freeze->setToolTip(tr("Hold the charts still while the answer goes on (Ctrl+Shift+F)"));
    m_top->addButton(m_freeze);
    connect(m_freeze, &QPushButton::toggled, m_scope, &ScopeView::setFrozen);
    connect(m_scope, &ScopeView::frozenChanged, m_freeze, &QPushButton::setChecked);

    makeMenus();
    connectParts();
    restore();
    showModel();
    showPage();
    showActions();
    showMemory();
}

MainWindow::~MainWindow() = default;

void MainWindow::connectParts()
{
    ModelController& model = m_context.model;
    connect(m_top, &TopBar::openRequested, this, &MainWindow::openModel);
    connect(m_first, &FirstPage::openRequested, this, &MainWindow::openModel);
    connect(m_first, &FirstPage::loadRequested, this, [this](const QString& path) { openFiles({path}); });
    connect(&model, &ModelController::modelChanged, this, &MainWindow::showModel);
    connect(&model, &ModelController::changed, this, &MainWindow::showPage);
    connect(&model, &ModelController::failed, this, [this](const QString& sentence) { showNotice(sentence, true); });
    connect(m_chat, &ChatPage::listChanged, this, &MainWindow::showPage);
    connect(m_chat, &ChatPage::filesGiven, this, &MainWindow::openFiles);
    connect(m_controls, &ControlBar::settingsChanged, this,
            [this] { m_context.settings.replace(m_controls->settings()); });
    connect(m_controls, &ControlBar::reloadRequested, &model, &ModelController::reload);
    connect(m_controls, &ControlBar::allSettingsRequested, this, &MainWindow::openSettings);
    connect(&m_context.settings, &AppSettings::changed, this, [this] {
        m_context.session.service().setSettings(m_context.settings.settings());
        m_controls->setSettings(m_context.settings.settings());
    });
    connect(&m_context.session, &ChatSession::runSaved, this, [this](RunId run) {
        m_status->setField(StatusLine::Field::Run, tr("run %1 saved").arg(run),
                           tr("The last answer, with its settings and every time stamp, in the database"));
    });
    connect(&m_context.session, &ChatSession::answerFinished, this, &MainWindow::measureCeilings);
    for (const auto signal : {&ChatSession::conversationOpened, &ChatSession::transcriptFilled})
        connect(&m_context.session, signal, this, &MainWindow::showActions);
    connect(&model, &ModelController::changed, this, &MainWindow::showActions);
    connect(&m_context.session, &ChatSession::answeringChanged, this, [this](bool answering) {
        showActions();
        if (answering)
            m_memoryTimer.start();
        else
            m_memoryTimer.stop();
        showMemory();
    });
    m_memoryTimer.setInterval(1000);
    connect(&m_memoryTimer, &QTimer::timeout, this, &MainWindow::showMemory);
    m_context.session.service().setSettings(m_context.settings.settings());
}

void MainWindow::showPage()
{
    ModelController& model = m_context.model;
    const bool used = model.loaded() || model.loading();
    if (used)
        m_choosing = false;
    const bool first = m_choosing || (!used && m_context.session.conversationModel().rowCount() == 0);
    QWidget* page = first ? static_cast<QWidget*>(m_first) : m_chat;
    if (m_pages->currentWidget() == page && m_controls->isVisibleTo(this) == !first)
        return;
    m_pages->setCurrentWidget(page);
    m_first->notice().hide();  // of the time before
    m_controls->setVisible(!first);
    m_freeze->setVisible(!first);
    if (!first)
        m_chat->composer().setFocus();
}

void MainWindow::showActions()
{
    ChatSession& session = m_context.session;
    const bool answering = session.answering();
    const bool messages = session.transcriptModel().rowCount() > 0;
    m_stop->setEnabled(answering);
    for (QAction* action : m_chatActions)
        action->setEnabled(session.service().currentConversation().has_value());
    for (QAction* action : m_messageActions)
        action->setEnabled(messages);
    for (QAction* action : m_answerActions)
        action->setEnabled(messages && !answering && m_context.model.loaded());
}

void MainWindow::showModel()
{
    const std::optional<LoadedModelInfo>& loaded = m_context.model.loaded();
    m_loadedWith = m_context.settings.settings().engine;
    m_context.session.service().setModel(loaded);
    m_scope->model().setModel(loaded);
    m_scope->modelChanged();
    m_controls->setModel(loaded, m_loadedWith);
    m_status->setReady(loaded.has_value());
    m_unload->setEnabled(loaded.has_value());

    QString device = loaded ? QString::fromStdString(loaded->description) : QString();
    if (const auto effective = resolveDevice(m_context.settings.settings().engine)) {
        if (!loaded)
            device = effective->threads == 1 ? tr("CPU · 1 thread") : tr("CPU · %1 threads").arg(effective->threads);
        if (const auto ceilings = storedCeilings(m_context.cacheFolder, *effective))
            setCeilings(*ceilings);
    }
    m_status->setField(StatusLine::Field::Device, device, tr("What computes: device, instruction set, threads"));
    if (loaded)
        for (const std::string& warning : loaded->warnings)
            showNotice(QString::fromStdString(warning));
    showMemory();
}

void MainWindow::showMemory()
{
    if (const std::uint64_t bytes = residentBytes())
        m_status->setField(StatusLine::Field::Memory, tr("memory %1").arg(bytesText(bytes)),
                           tr("What this process holds in memory now: program, weights, cache, window"));
}

void MainWindow::setCeilings(const MeasuredCeilings& ceilings)
{
    m_context.session.service().setCeilings(ceilings);
    m_scope->model().setCeilings(ceilings);
    m_scope->modelChanged();
    const QLocale locale;
    m_status->setField(
        StatusLine::Field::Ceiling,
        tr("ceiling %1 GB/s · %2 GMAC/s")
            .arg(locale.toString(ceilings.readBytesPerSecond / 1e9, 'f', 1),
                 locale.toString(ceilings.int8MacsPerSecond / 1e9, 'f', 0)),
        tr("The fastest this machine read memory and multiplied 8-bit numbers, measured once; what an answer "
           "reaches of it is its MBU and MFU"));
}

void MainWindow::measureCeilings()
{
    // A second of all threads: after the first answer, never before it.
    const auto effective = resolveDevice(m_context.settings.settings().engine);
    if (m_ceilingsAsked || !m_context.measuresCeilings || !effective ||
        storedCeilings(m_context.cacheFolder, *effective))
        return;
    m_ceilingsAsked = true;
    QTimer::singleShot(500, this, [this, device = *effective] {
        if (m_context.session.answering()) {
            m_ceilingsAsked = false;
            return;
        }
        runInBackground(
            this, [folder = m_context.cacheFolder, device] { return measureAndStoreCeilings(folder, device); },
            [this](Result<MeasuredCeilings> ceilings) {
                if (ceilings)
                    setCeilings(*ceilings);
            });
    });
}

NoticeBar& MainWindow::notice()
{
    return m_pages->currentWidget() == m_first ? m_first->notice() : m_chat->notice();
}

void MainWindow::showNotice(const QString& text, bool error)
{
    showPage();  // a load that failed may have another page to be told on
    notice().show(error ? NoticeBar::Kind::Error : NoticeBar::Kind::Warning, text);
}

void MainWindow::openModel()
{
    const QString last =
        m_context.preferences
            .value(QStringLiteral("models/openFolder"), QString::fromStdString(m_context.modelsFolder.string()))
            .toString();
    const QString path =
        QFileDialog::getOpenFileName(this, tr("Open a model"), last, tr("Models (*.gguf);;All files (*)"));
    if (path.isEmpty())
        return;
    m_context.preferences.setValue(QStringLiteral("models/openFolder"), QFileInfo(path).absolutePath());
    m_context.model.load(path);
}

void MainWindow::openFiles(const QStringList& paths)
{
    QStringList texts;
    for (const QString& path : paths) {
        if (isModelFile(path))
            m_context.model.load(path);
        else
            texts << path;
    }
    if (!texts.isEmpty())
        m_chat->attach(texts);
}

void MainWindow::loadAtStart()
{
    if (const QString unfinished = m_context.model.unfinishedLoad(); !unfinished.isEmpty()) {
        notice().show(NoticeBar::Kind::Warning,
                      tr("Tokenscope ended while it loaded %1 the last time, so it was not loaded again by itself.")
                          .arg(QFileInfo(unfinished).fileName()),
                      tr("Load it"), [this, unfinished] { m_context.model.load(unfinished); });
        return;
    }
    const QString last = m_context.preferences.value(QStringLiteral("models/last")).toString();
    if (!last.isEmpty() && QFileInfo::exists(last))
        m_context.model.load(last);
}

void MainWindow::raiseToFront()
{
    if (isMinimized())
        showNormal();
    show();
    raise();
    activateWindow();
}

void MainWindow::openSettings()
{
    SettingsDialog dialog(m_context.settings.settings(), this);
    connect(&dialog, &SettingsDialog::settingsChanged, this,
            [this, &dialog] { m_context.settings.replace(dialog.settings()); });
    dialog.exec();
}

void MainWindow::restore()
{
    Preferences& preferences = m_context.preferences;
    resize(1280, 800);
    if (preferences.value(QStringLiteral("window/version")).toInt() != kLayoutVersion)
        return;
    restoreGeometry(preferences.value(QStringLiteral("window/geometry")).toByteArray());
    const QByteArray layout = preferences.value(QStringLiteral("window/chat")).toByteArray();
    // Once the window has its size: the scope's place depends on it.
    QTimer::singleShot(0, this, [this, layout] { m_chat->restoreLayout(layout); });
}

void MainWindow::remember()
{
    Preferences& preferences = m_context.preferences;
    preferences.setValue(QStringLiteral("window/version"), kLayoutVersion);
    preferences.setValue(QStringLiteral("window/geometry"), saveGeometry());
    if (const QByteArray layout = m_chat->saveLayout(); !layout.isEmpty())
        preferences.setValue(QStringLiteral("window/chat"), layout);
    preferences.sync();
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    remember();
    m_first->fetcher().cancel();
    emit quitting();
    event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event)
{
    if (droppedFiles(event->mimeData()).isEmpty())
        return;
    m_first->setDropHighlighted(true);
    event->acceptProposedAction();
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent*)
{
    m_first->setDropHighlighted(false);
}

void MainWindow::dropEvent(QDropEvent* event)
{
    m_first->setDropHighlighted(false);
    openFiles(droppedFiles(event->mimeData()));
    event->acceptProposedAction();
}

}  // namespace tokenscope::ui
