// Markdown, code or plain text laid out as a QTextDocument that can reach nothing outside itself: no file, no network,
// no HTML. Knows which place of the source each rendered character came from.
#pragma once

#include "ui/theme/palette.h"
#include "ui/widgets/markdown_stream.h"

#include <QTextDocument>

#include <memory>
#include <vector>

namespace tokenscope::ui {

// Refuses every resource. Qt would load file:// images from a model's answer otherwise (pains.md P49).
class SafeDocument : public QTextDocument {
    Q_OBJECT

public:
    using QTextDocument::QTextDocument;

protected:
    QVariant loadResource(int type, const QUrl& name) override;
};

std::unique_ptr<QTextDocument> renderProse(const QString& markdown, const Palette& colors);
std::unique_ptr<QTextDocument> renderCode(const QString& code, const QString& language, const Palette& colors);
std::unique_ptr<QTextDocument> renderPlain(const QString& text, const Palette& colors);

// For each character of `rendered` the position in `source` it came from; rising, never beyond the end. Rendering drops
// characters (markers, link targets) and changes few, so the two are walked side by side, and after each gap by the
// longest agreement that follows.
std::vector<int> alignToSource(QStringView rendered, QStringView source);

// http, https and mailto; everything else is not a link here.
bool mayOpen(const QUrl& url);

}  // namespace tokenscope::ui
