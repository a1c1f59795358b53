#include "ui/charts/scope_table_model.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include <gtest/gtest.h>

namespace tokenscope::ui {
namespace {

const QStringList kColumns{QStringLiteral("Token"), QStringLiteral("Gap")};

QString cellText(int row, int column)
{
    return QStringLiteral("%1:%2").arg(row).arg(column);
}

TEST(ScopeTableModel, ALongTableWritesOnlyTheCellsThatAreLookedAt)
{
    ScopeTableModel table;
    int asked = 0;
    table.setLive(
        kColumns, 8000,
        [&asked](int row, int column) {
            ++asked;
            return cellText(row, column);
        },
        false);
    EXPECT_EQ(table.rowCount(), 8000);
    EXPECT_EQ(asked, 0);
    EXPECT_EQ(table.data(table.index(7999, 1), Qt::DisplayRole).toString(), QStringLiteral("7999:1"));
    EXPECT_EQ(asked, 1);
}

TEST(ScopeTableModel, TokensThatAreAddedLeaveTheReaderWhereHeIs)
{
    ScopeTableModel table;
    QAbstractItemModelTester tester(&table, QAbstractItemModelTester::FailureReportingMode::Fatal);
    table.setLive(kColumns, 10, cellText, false);
    QSignalSpy resets(&table, &QAbstractItemModel::modelReset), added(&table, &QAbstractItemModel::rowsInserted);
    table.setLive(kColumns, 25, cellText, true);
    EXPECT_EQ(resets.count(), 0);
    EXPECT_EQ(added.count(), 1);
    EXPECT_EQ(table.rowCount(), 25);
    table.setLive(kColumns, 5, cellText, true);  // fewer cannot be an extension
    EXPECT_EQ(resets.count(), 1);
    EXPECT_EQ(table.rowCount(), 5);
}

TEST(ScopeTableModel, AsTextHoldsEveryRow)
{
    ScopeTableModel table;
    table.setLive(kColumns, 2, cellText, false);
    EXPECT_EQ(table.asText(), QStringLiteral("Token\tGap\n0:0\t0:1\n1:0\t1:1"));
}

}  // namespace
}  // namespace tokenscope::ui
