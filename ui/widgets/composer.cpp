#include "ui/widgets/composer.h"

#include "ui/theme/fonts.h"
#include "ui/widgets/format.h"
#include "ui/widgets/painting.h"
#include "ui/widgets/pill_button.h"
#include "ui/widgets/text_label.h"

#include <QAbstractTextDocumentLayout>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMimeData>
#include <QStringDecoder>
#include <QTextDocument>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>

namespace tokenscope::ui {
namespace {

constexpr int kMostLines = 8;

QStringList localFiles(const QMimeData* source)
{
    QStringList paths;
    for (const QUrl& url : source->urls())
        if (url.isLocalFile())
            paths << url.toLocalFile();
    return paths;
}

// Long enough that no run of backticks in the text can end it.
QString fenceFor(const QString& text)
{
    QString fence = QStringLiteral("```");
    while (text.contains(fence))
        fence += u'`';
    return fence;
}

}  // namespace

ComposerEdit::ComposerEdit(QWidget* parent) : QPlainTextEdit(parent)
{
    setAccessibleName(QObject::tr("Message"));
    setFrameShape(QFrame::NoFrame);
    setTabChangesFocus(true);
    setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    document()->setDocumentMargin(2);
    connect(this, &QPlainTextEdit::textChanged, this, [this] { updateGeometry(); });
    connect(document()->documentLayout(), &QAbstractTextDocumentLayout::documentSizeChanged, this,
            [this] { updateGeometry(); });
    restyle();
}

QSize ComposerEdit::sizeHint() const
{
    // QPlainTextEdit counts its document's height in lines.
    const int lines = std::clamp(qRound(document()->size().height()), 1, kMostLines);
    return {200, lines * fontMetrics().lineSpacing() + 6};
}

QSize ComposerEdit::minimumSizeHint() const
{
    return {80, sizeHint().height()};
}

void ComposerEdit::restyle()
{
    if (m_restyling)
        return;
    m_restyling = true;
    QPalette own = parentWidget() ? parentWidget()->palette() : palette();
    own.setColor(QPalette::Base, Qt::transparent);
    setPalette(own);
    viewport()->setAutoFillBackground(false);
    m_restyling = false;
    updateGeometry();
}

void ComposerEdit::changeEvent(QEvent* event)
{
    QPlainTextEdit::changeEvent(event);
    if (event->type() == QEvent::ApplicationPaletteChange || event->type() == QEvent::PaletteChange ||
        event->type() == QEvent::ParentChange || event->type() == QEvent::FontChange)
        restyle();
}

void ComposerEdit::keyPressEvent(QKeyEvent* event)
{
    const bool enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (enter && !(event->modifiers() & (Qt::ShiftModifier | Qt::AltModifier))) {
        emit sendPressed();
        return;
    }
    if (enter) {
        textCursor().insertText(QStringLiteral("\n"));
        ensureCursorVisible();
        return;
    }
    if (event->key() == Qt::Key_Escape) {
        emit escapePressed();
        return;
    }
    if (event->key() == Qt::Key_Up && document()->isEmpty()) {
        emit upPressedWhenEmpty();
        return;
    }
    QPlainTextEdit::keyPressEvent(event);
}

bool ComposerEdit::canInsertFromMimeData(const QMimeData* source) const
{
    return !localFiles(source).isEmpty() || QPlainTextEdit::canInsertFromMimeData(source);
}

void ComposerEdit::insertFromMimeData(const QMimeData* source)
{
    const QStringList files = localFiles(source);
    if (!files.isEmpty())
        emit filesGiven(files);
    else
        QPlainTextEdit::insertFromMimeData(source);
}

Composer::Composer(QWidget* parent) : QWidget(parent)
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(13, 9, 12, 9);
    column->setSpacing(6);

    m_editLabel = new TextLabel(tr("Editing a message: the answer is written anew. Esc leaves it as it was."),
                                FontRole::Small, &Palette::s3text, this);
    m_editLabel->hide();
    column->addWidget(m_editLabel);
    m_chips = new QWidget(this);
    m_chipRow = new QHBoxLayout(m_chips);
    m_chipRow->setContentsMargins(0, 0, 0, 0);
    m_chipRow->setSpacing(6);
    m_chipRow->addStretch(1);
    m_chips->hide();
    column->addWidget(m_chips);

    auto* row = new QHBoxLayout;
    row->setSpacing(4);
    m_edit = new ComposerEdit(this);
    row->addWidget(m_edit, 1);
    m_attach = PillButton::icon(QStringLiteral("attach"), tr("Attach a text file"), this);
    m_system = PillButton::icon(QStringLiteral("system"), tr("System prompt of this chat"), this);
    m_send = new PillButton(PillButton::Kind::Primary, tr("Send"), this);
    row->addWidget(m_attach, 0, Qt::AlignBottom);
    row->addWidget(m_system, 0, Qt::AlignBottom);
    row->addSpacing(4);
    row->addWidget(m_send, 0, Qt::AlignBottom);
    column->addLayout(row);
    m_hint = new TextLabel(QString(), FontRole::Small, &Palette::faint, this);
    m_hint->setWordWrap(true);
    m_hint->hide();
    column->addWidget(m_hint);

    setFocusProxy(m_edit);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(m_edit, &ComposerEdit::sendPressed, this, [this] {
        if (!m_answering)
            pressed();
    });
    connect(m_edit, &ComposerEdit::escapePressed, this, [this] {
        if (m_answering)
            emit stopRequested();
        else
            endEdit();
    });
    connect(m_edit, &ComposerEdit::upPressedWhenEmpty, this, &Composer::editLastRequested);
    connect(m_edit, &ComposerEdit::filesGiven, this, &Composer::filesGiven);
    connect(m_edit, &QPlainTextEdit::textChanged, this, &Composer::refresh);
    connect(m_send, &QPushButton::clicked, this, &Composer::pressed);
    connect(m_system, &QPushButton::clicked, this, &Composer::systemPromptRequested);
    connect(m_attach, &QPushButton::clicked, this,
            [this] { attachFiles(QFileDialog::getOpenFileNames(this, tr("Attach text files"))); });
    m_placeholder = tr("Message");
    refresh();
}

void Composer::pressed()
{
    if (m_answering)
        emit stopRequested();
    else if (m_blocked.isEmpty() && !message().trimmed().isEmpty())
        emit sendRequested();
}

void Composer::setBlocked(const QString& reason)
{
    m_blocked = reason;
    refresh();
}

void Composer::setPlaceholder(const QString& text)
{
    m_placeholder = text;
    refresh();
}

void Composer::setHint(const QString& text)
{
    m_hint->setText(text);
    m_hint->setVisible(!text.isEmpty());
}

void Composer::setAnswering(bool answering)
{
    m_answering = answering;
    refresh();
}

void Composer::setSystemPromptSet(bool set)
{
    m_system->setCheckable(true);
    m_system->setChecked(set);
    m_system->setToolTip(set ? tr("System prompt of this chat (set)") : tr("System prompt of this chat"));
}

void Composer::refresh()
{
    m_edit->setPlaceholderText(m_blocked.isEmpty() ? m_placeholder : m_blocked);
    m_edit->viewport()->update();  // Qt 6.4 leaves the old words on the screen
    m_send->setText(m_answering ? tr("Stop · Esc") : m_editing ? tr("Ask again") : tr("Send"));
    m_send->setAccessibleName(m_answering ? tr("Stop the answer") : tr("Send the message"));
    m_send->setEnabled(m_answering || (m_blocked.isEmpty() && !message().trimmed().isEmpty()));
    m_send->setToolTip(m_answering           ? tr("Stop the answer (Esc)")
                       : m_blocked.isEmpty() ? tr("Send (Enter); Shift+Enter breaks the line")
                                             : m_blocked);
    m_send->updateGeometry();
    m_editLabel->setVisible(m_editing != 0);
}

QString Composer::message() const
{
    QString text;
    for (const Attachment& attachment : m_attachments) {
        const QString fence = fenceFor(attachment.text);
        text += QStringLiteral("%1\n%2\n%3\n%2\n\n")
                    .arg(attachment.name, fence,
                         attachment.text.endsWith(u'\n') ? attachment.text.chopped(1) : attachment.text);
    }
    return text + m_edit->toPlainText();
}

void Composer::clear()
{
    m_edit->clear();
    m_attachments.clear();
    showAttachments();
}

QString Composer::draft() const
{
    return m_editing ? m_beforeEdit : m_edit->toPlainText();
}

void Composer::setDraft(const QString& text)
{
    m_edit->setPlainText(text);
    m_edit->moveCursor(QTextCursor::End);
}

void Composer::beginEdit(qint64 message, const QString& text)
{
    if (!m_editing)
        m_beforeEdit = m_edit->toPlainText();
    m_editing = message;
    setDraft(text);
    refresh();
    m_edit->setFocus();
}

void Composer::endEdit()
{
    if (!m_editing)
        return;
    m_editing = 0;
    setDraft(std::exchange(m_beforeEdit, {}));
    refresh();
}

void Composer::attachFiles(const QStringList& paths)
{
    for (const QString& path : paths) {
        const QFileInfo info(path);
        QFile file(path);
        const auto refuse = [&](const QString& why) {
            emit problem(tr("%1 was not attached: %2").arg(info.fileName(), why));
        };
        if (static_cast<int>(m_attachments.size()) >= kMaxAttachments) {
            refuse(tr("a message takes %1 files").arg(kMaxAttachments));
        } else if (!info.isFile() || !file.open(QIODevice::ReadOnly)) {
            refuse(tr("it cannot be read (%1)").arg(info.isFile() ? file.errorString() : tr("not a file")));
        } else if (info.size() > kMaxAttachmentBytes) {
            refuse(tr("it has %1, and %2 is the limit")
                       .arg(bytesText(static_cast<std::uint64_t>(info.size())),
                            bytesText(static_cast<std::uint64_t>(kMaxAttachmentBytes))));
        } else {
            const QByteArray bytes = file.read(kMaxAttachmentBytes);
            QStringDecoder decode(QStringDecoder::Utf8, QStringDecoder::Flag::Stateless);
            const QString text = decode(bytes);
            if (decode.hasError() || bytes.contains('\0'))
                refuse(tr("it is not UTF-8 text"));
            else
                m_attachments.push_back({info.fileName(), text, info.size()});
        }
    }
    showAttachments();
    m_edit->setFocus();
}

void Composer::showAttachments()
{
    while (m_chipRow->count() > 1)
        delete m_chipRow->takeAt(0)->widget();
    for (std::size_t i = 0; i < m_attachments.size(); ++i) {
        const Attachment& attachment = m_attachments[i];
        auto* chip = new PillButton(
            PillButton::Kind::Secondary,
            attachment.name.size() > 28 ? attachment.name.left(25) + QChar(0x2026) : attachment.name, m_chips);
        chip->setIconName(QStringLiteral("file"));
        chip->setHint(bytesText(static_cast<std::uint64_t>(attachment.bytes)) + QStringLiteral("  ×"));
        chip->setToolTip(tr("Remove %1").arg(attachment.name));
        chip->setAccessibleName(chip->toolTip());
        // Later: the button must not be deleted while it tells of its click.
        connect(chip, &QPushButton::clicked, this, [this, i] {
            m_attachments.erase(m_attachments.begin() + static_cast<std::ptrdiff_t>(i));
            QMetaObject::invokeMethod(this, [this] { showAttachments(); }, Qt::QueuedConnection);
        });
        m_chipRow->insertWidget(m_chipRow->count() - 1, chip);
    }
    m_chips->setVisible(!m_attachments.empty());
    refresh();
}

void Composer::mousePressEvent(QMouseEvent*)
{
    m_edit->setFocus(Qt::MouseFocusReason);  // the whole box is the field
}

void Composer::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Palette& colors = colorsOf(this);
    drawBox(painter, rect(), kCardRadius, colors.panel,
            m_edit->hasFocus() ? mixed(colors.line, colors.accent, 0.6) : colors.line);
}

}  // namespace tokenscope::ui
