package weir;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.apache.fluss.client.lookup.LookupResult;
import org.apache.fluss.client.lookup.Lookuper;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.writer.UpsertWriter;
import org.apache.fluss.metadata.KvFormat;
import org.apache.fluss.metadata.LogFormat;
import org.apache.fluss.metadata.MergeEngineType;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableBucket;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.row.InternalRow;
import org.apache.fluss.types.DataTypes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class PrimaryKeyTableTest extends WeirTest {
    private static final Schema CUSTOMERS =
            Schema.newBuilder()
                    .column("id", DataTypes.INT())
                    .column("name", DataTypes.STRING())
                    .column("points", DataTypes.BIGINT())
                    .primaryKey("id")
                    .build();

    @ParameterizedTest
    @CsvSource({"COMPACTED, ARROW", "INDEXED, ARROW", "INDEXED, INDEXED", "COMPACTED, COMPACTED"})
    void rowsAndTheirChangelog(KvFormat rows, LogFormat log) throws Exception {
        Table table =
                create(
                        "t",
                        TableDescriptor.builder()
                                .schema(CUSTOMERS)
                                .distributedBy(1)
                                .kvFormat(rows)
                                .logFormat(log)
                                .build());
        upsert(table, row(1, "Alice", 10L), row(2, "Bob", null), row(1, "Alice", 11L));
        delete(table, row(2, null, null));
        assertEquals("(1, Alice, 11)", lookup(table, 1));
        assertNull(lookup(table, 2));
        assertEquals(
                List.of(
                        "+I (1, Alice, 10)",
                        "+I (2, Bob, null)",
                        "-U (1, Alice, 10)",
                        "+U (1, Alice, 11)",
                        "-D (2, Bob, null)"),
                changes(table, 5));
        assertEquals(1, admin.getTableStats(path("t")).get().getRowCount());
    }

    @ParameterizedTest
    @EnumSource(KvFormat.class)
    void everyType(KvFormat format) throws Exception {
        Table table =
                create(
                        "t",
                        TableDescriptor.builder()
                                .schema(EveryType.schema().primaryKey("id").build())
                                .distributedBy(1)
                                .kvFormat(format)
                                .build());
        upsert(table, EveryType.full(), EveryType.empty(2));
        assertEquals(EveryType.fullText(), lookup(table, 1));
        assertEquals(EveryType.emptyText(2), lookup(table, 2));
        assertEquals(
                List.of("+I " + EveryType.fullText(), "+I " + EveryType.emptyText(2)), changes(table, 2));
    }

    /** The server finds a row by the bytes that the client makes of its key. */
    @Test
    void everyTypeOfKey() throws Exception {
        List<String> keys =
                EveryType.schema().build().getColumnNames().stream()
                        .filter(name -> !List.of("tags", "counts", "place").contains(name))
                        .toList();
        Table table =
                create(
                        "t",
                        TableDescriptor.builder()
                                .schema(EveryType.schema().primaryKey(keys).build())
                                .distributedBy(3)
                                .build());
        upsert(table, EveryType.full(), EveryType.full());
        Object[] key = new Object[keys.size()];
        for (int i = 0; i < key.length; i++) {
            key[i] = EveryType.full().getField(i);
        }
        assertEquals(EveryType.fullText(), lookup(table, key));
        assertEquals(1, admin.getTableStats(path("t")).get().getRowCount());
    }

    @Test
    void partialUpdates() throws Exception {
        Table table = create("t", CUSTOMERS);
        UpsertWriter names = table.newUpsert().partialUpdate("id", "name").createWriter();
        UpsertWriter points = table.newUpsert().partialUpdate(new int[] {0, 2}).createWriter();
        names.upsert(row(1, "Alice", null)).get();
        points.upsert(row(1, null, 5L)).get();
        assertEquals("(1, Alice, 5)", lookup(table, 1));
        names.delete(row(1, null, null)).get();
        assertEquals("(1, null, 5)", lookup(table, 1));
        points.delete(row(1, null, null)).get();
        assertNull(lookup(table, 1));
        assertEquals(
                List.of(
                        "+I (1, Alice, null)",
                        "-U (1, Alice, null)",
                        "+U (1, Alice, 5)",
                        "-U (1, Alice, 5)",
                        "+U (1, null, 5)",
                        "-D (1, null, 5)"),
                changes(table, 6));
    }

    @Test
    void lookupsByPrefix() throws Exception {
        Schema orders =
                Schema.newBuilder()
                        .column("customer", DataTypes.STRING())
                        .column("region", DataTypes.INT())
                        .column("order", DataTypes.BIGINT())
                        .column("item", DataTypes.STRING())
                        .primaryKey("customer", "region", "order")
                        .build();
        Table table =
                create(
                        "t",
                        TableDescriptor.builder()
                                .schema(orders)
                                .distributedBy(3, "customer", "region")
                                .build());
        upsert(
                table,
                row("a", 1, 10L, "pen"),
                row("a", 1, 11L, "ink"),
                row("a", 2, 12L, "cup"),
                row("ab", 1, 13L, "jar"));
        Lookuper lookuper = table.newLookup().lookupBy("customer", "region").createLookuper();
        List<String> found = new ArrayList<>();
        for (InternalRow row : lookuper.lookup(row("a", 1)).get().getRowList()) {
            found.add(text(table, row));
        }
        assertEquals(List.of("(a, 1, 10, pen)", "(a, 1, 11, ink)"), found);
        assertEquals(List.of(), lookuper.lookup(row("b", 1)).get().getRowList());
    }

    @Test
    void lookupsThatInsert() throws Exception {
        Schema users =
                Schema.newBuilder()
                        .column("email", DataTypes.STRING())
                        .column("user", DataTypes.BIGINT())
                        .primaryKey("email")
                        .enableAutoIncrement("user")
                        .build();
        Table table = create("t", users);
        Lookuper lookuper = table.newLookup().enableInsertIfNotExists().createLookuper();
        String first = text(table, lookuper.lookup(row("a@x")).get().getSingletonRow());
        String second = text(table, lookuper.lookup(row("b@x")).get().getSingletonRow());
        assertEquals("(a@x, 1)", first);
        assertEquals("(b@x, 2)", second);
        assertEquals(first, text(table, lookuper.lookup(row("a@x")).get().getSingletonRow()));
        assertEquals(List.of("+I (a@x, 1)", "+I (b@x, 2)"), changes(table, 2));
    }

    @Test
    void manyRowsAndLookupsAtOnce() throws Exception {
        Table table =
                create("t", TableDescriptor.builder().schema(CUSTOMERS).distributedBy(4).build());
        UpsertWriter writer = table.newUpsert().createWriter();
        for (int i = 0; i < 20_000; i++) {
            writer.upsert(row(i % 5_000, "name " + i, (long) i));
        }
        writer.flush();
        Lookuper lookuper = table.newLookup().createLookuper();
        List<CompletableFuture<LookupResult>> found = new ArrayList<>();
        for (int i = 0; i < 5_000; i++) {
            found.add(lookuper.lookup(row(i)));
        }
        for (int i = 0; i < 5_000; i++) {
            int last = 15_000 + i;
            assertEquals(
                    "(" + i + ", name " + last + ", " + last + ")",
                    text(table, found.get(i).get().getSingletonRow()));
        }
        assertEquals(5_000, admin.getTableStats(path("t")).get().getRowCount());
    }

    @Test
    void limitScans() throws Exception {
        Table table = create("t", CUSTOMERS);
        upsert(table, IntStream.range(0, 10).mapToObj(i -> row(i, "n", 1L)).toArray(InternalRow[]::new));
        TableBucket bucket = new TableBucket(table.getTableInfo().getTableId(), 0);
        assertEquals(
                7,
                rows(table.newScan().limit(7).createBatchScanner(bucket), CUSTOMERS.getRowType()).size());
        assertEquals(
                List.of("(n)", "(n)"),
                rows(
                        table.newScan().limit(2).project(List.of("name")).createBatchScanner(bucket),
                        DataTypes.ROW(DataTypes.STRING())));
    }

    @Test
    void mergeEngines() throws Exception {
        for (MergeEngineType engine : List.of(MergeEngineType.FIRST_ROW, MergeEngineType.VERSIONED)) {
            TableDescriptor.Builder descriptor =
                    TableDescriptor.builder()
                            .schema(CUSTOMERS)
                            .distributedBy(1)
                            .property("table.merge-engine", engine.toString());
            if (engine == MergeEngineType.VERSIONED) {
                descriptor.property("table.merge-engine.versioned.ver-column", "points");
            }
            Table table = create(engine.name(), descriptor.build());
            upsert(table, row(1, "a", 5L), row(1, "b", 6L), row(1, "c", 4L));
            boolean isFirst = engine == MergeEngineType.FIRST_ROW;
            assertEquals(isFirst ? "(1, a, 5)" : "(1, b, 6)", lookup(table, 1));
        }
    }
}
