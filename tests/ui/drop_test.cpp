// Files dropped on the window, sent to the widget under the mouse as the platform does it.
#include "tests/ui/window_fixture.h"
#include "ui/widgets/composer.h"

#include <QApplication>
#include <QDropEvent>
#include <QFile>
#include <QMimeData>
#include <QUrl>

#include <set>

namespace tokenscope::ui {
namespace {

class DropTest : public WindowTest {
protected:
    // The innermost widget at a place of the window is asked first; the first that takes the drag gets the drop.
    bool drop(QPoint place, const QString& file)
    {
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(file)});
        data.setText(QUrl::fromLocalFile(file).toString());  // file managers give the text, too
        QWidget* target = window.childAt(place);
        if (!target)
            target = &window;
        const QPoint inside = target->mapFrom(&window, place);
        QDragEnterEvent enter(inside, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(target, &enter);
        if (!enter.isAccepted())
            return false;
        QDragMoveEvent move(inside, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(target, &move);
        QDropEvent dropped(inside, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(target, &dropped);
        return true;
    }
    QString write(const std::string& name, const QByteArray& bytes)
    {
        const QString path = QString::fromStdString((folder.path() / name).string());
        QFile file(path);
        EXPECT_TRUE(file.open(QIODevice::WriteOnly));
        file.write(bytes);
        return path;
    }
    QString describe(QPoint place)
    {
        const QWidget* target = window.childAt(place);
        return QStringLiteral("%1, %2: %3")
            .arg(place.x())
            .arg(place.y())
            .arg(QString::fromLatin1(target ? target->metaObject()->className() : "window"));
    }
};

TEST_F(DropTest, AModelIsLoadedWhereverItIsDropped)
{
    const QString files[] = {write("one.gguf", "GGUF"), write("two.gguf", "GGUF")};
    window.resize(1280, 800);
    window.show();
    int dropped = 0;
    for (const bool first : {true, false}) {
        if (!first)
            loadModel();
        std::set<const QWidget*> targets;
        for (int y = 4; y < window.height(); y += 8)
            for (int x = 4; x < window.width(); x += 8) {
                if (!targets.insert(window.childAt(x, y)).second)
                    continue;
                const QString& file = files[++dropped % 2];
                const std::string where = describe({x, y}).toStdString();
                EXPECT_TRUE(drop({x, y}, file)) << where;
                EXPECT_EQ(model.path(), file) << where;
                if (first) {  // the page goes as soon as something loads
                    ASSERT_TRUE(QTest::qWaitFor([this] { return model.loaded().has_value(); }));
                    model.unload();
                    ASSERT_TRUE(QTest::qWaitFor([this] { return !model.loaded(); }));
                }
            }
        EXPECT_GT(targets.size(), 12u);
    }
    EXPECT_TRUE(window.chatPage().composer().edit()->toPlainText().isEmpty());
    EXPECT_TRUE(window.chatPage().composer().attachments().empty());
}

TEST_F(DropTest, ATextFileBecomesAnAttachmentInTheFieldAndBesideIt)
{
    const QString file = write("notes.txt", "some text");
    window.resize(1280, 800);
    window.show();
    loadModel();
    Composer& composer = window.chatPage().composer();
    std::size_t expected = 0;
    for (QWidget* target :
         {static_cast<QWidget*>(composer.edit()), static_cast<QWidget*>(&composer), static_cast<QWidget*>(&window)}) {
        EXPECT_TRUE(drop(target->mapTo(&window, target->rect().center()), file));
        EXPECT_EQ(composer.attachments().size(), ++expected);
    }
    EXPECT_TRUE(composer.edit()->toPlainText().isEmpty());
}

}  // namespace
}  // namespace tokenscope::ui
