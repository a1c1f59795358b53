// Quiet colours for code: comments, strings, numbers and the keywords of the languages models write most. Not a parser:
// an unknown language gets strings, numbers and comments only.
#pragma once

#include "ui/theme/palette.h"

class QTextDocument;
class QString;

namespace tokenscope::ui {

void colorCode(QTextDocument& document, const QString& language, const Palette& colors);

}  // namespace tokenscope::ui
