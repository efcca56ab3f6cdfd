package weir;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.fluss.client.Connection;
import org.apache.fluss.client.ConnectionFactory;
import org.apache.fluss.client.admin.Admin;
import org.apache.fluss.client.admin.OffsetSpec;
import org.apache.fluss.client.lookup.Lookuper;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.scanner.Scan;
import org.apache.fluss.client.table.scanner.ScanRecord;
import org.apache.fluss.client.table.scanner.batch.BatchScanner;
import org.apache.fluss.client.table.scanner.log.LogScanner;
import org.apache.fluss.client.table.writer.AppendWriter;
import org.apache.fluss.client.table.writer.UpsertWriter;
import org.apache.fluss.config.Configuration;
import org.apache.fluss.metadata.DatabaseDescriptor;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.metadata.TablePath;
import org.apache.fluss.row.BinaryString;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.row.InternalRow;
import org.apache.fluss.types.RowType;
import org.apache.fluss.utils.CloseableIterator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;

/**
 * Each test has a database of its own on the server of the property weir.bootstrap. All share a connection, which ends with
 * the process: the client takes two seconds to close one.
 */
abstract class WeirTest {
    static final Duration PATIENCE = Duration.ofSeconds(30);

    static final Connection connection = ConnectionFactory.createConnection(settings());
    static final Admin admin = connection.getAdmin();

    String database;

    @BeforeEach
    void createDatabase(TestInfo info) throws Exception {
        database =
                info.getTestClass().orElseThrow().getSimpleName()
                        + "_"
                        + info.getTestMethod().orElseThrow().getName();
        admin.dropDatabase(database, true, true).get();
        admin.createDatabase(database, DatabaseDescriptor.EMPTY, false).get();
    }

    @AfterEach
    void dropDatabase() throws Exception {
        admin.dropDatabase(database, true, true).get();
    }

    static Configuration settings() {
        Configuration settings = new Configuration();
        settings.setString("bootstrap.servers", System.getProperty("weir.bootstrap"));
        settings.setString("client.writer.batch-timeout", "1ms");
        return settings;
    }

    TablePath path(String table) {
        return TablePath.of(database, table);
    }

    /** A table of one bucket. */
    Table create(String name, Schema schema) throws Exception {
        return create(name, TableDescriptor.builder().schema(schema).distributedBy(1).build());
    }

    Table create(String name, TableDescriptor descriptor) throws Exception {
        admin.createTable(path(name), descriptor, false).get();
        return connection.getTable(path(name));
    }

    /** Strings become what the client has for them. */
    static GenericRow row(Object... fields) {
        Object[] own = new Object[fields.length];
        for (int i = 0; i < fields.length; i++) {
            own[i] = fields[i] instanceof String text ? BinaryString.fromString(text) : fields[i];
        }
        return GenericRow.of(own);
    }

    static void append(Table table, InternalRow... rows) {
        AppendWriter writer = table.newAppend().createWriter();
        for (InternalRow row : rows) {
            writer.append(row);
        }
        writer.flush();
    }

    /** One after the other, so that the changelog is in the order of the calls. */
    static void upsert(Table table, InternalRow... rows) throws Exception {
        UpsertWriter writer = table.newUpsert().createWriter();
        for (InternalRow row : rows) {
            writer.upsert(row).get();
        }
    }

    static void delete(Table table, InternalRow... keys) throws Exception {
        UpsertWriter writer = table.newUpsert().createWriter();
        for (InternalRow key : keys) {
            writer.delete(key).get();
        }
    }

    /** The row of a key as text, or null. */
    static String lookup(Table table, Object... key) throws Exception {
        Lookuper lookuper = table.newLookup().createLookuper();
        InternalRow found = lookuper.lookup(row(key)).get().getSingletonRow();
        return found == null ? null : text(table, found);
    }

    static String text(Table table, InternalRow row) {
        return RowText.of(row, table.getTableInfo().getRowType());
    }

    /** `change row` of the first records of bucket 0, and that there are no more. */
    static List<String> changes(Table table, int count) throws Exception {
        return changes(table, table.newScan(), table.getTableInfo().getRowType(), 0L, count);
    }

    static List<String> changes(Table table, Scan scan, RowType type, long from, int count)
            throws Exception {
        List<String> told = new ArrayList<>();
        try (LogScanner scanner = scan.createLogScanner()) {
            scanner.subscribe(0, from);
            long end = System.nanoTime() + PATIENCE.toNanos();
            while (told.size() < count && System.nanoTime() < end) {
                for (ScanRecord record : scanner.poll(Duration.ofSeconds(1))) {
                    told.add(record.getChangeType().shortString() + " " + RowText.of(record.getRow(), type));
                }
            }
            for (ScanRecord record : scanner.poll(Duration.ofMillis(200))) {
                told.add("beyond the end: " + RowText.of(record.getRow(), type));
            }
        }
        return told;
    }

    /** All rows of a batch scan as text, sorted. */
    static List<String> rows(BatchScanner scanner, RowType type) throws Exception {
        List<String> rows = new ArrayList<>();
        try (scanner) {
            CloseableIterator<InternalRow> batch;
            while ((batch = scanner.pollBatch(PATIENCE)) != null) {
                while (batch.hasNext()) {
                    rows.add(RowText.of(batch.next(), type));
                }
                batch.close();
            }
        }
        Collections.sort(rows);
        return rows;
    }

    long end(String table, int buckets) throws Exception {
        List<Integer> all = IntStream.range(0, buckets).boxed().toList();
        return admin.listOffsets(path(table), all, new OffsetSpec.LatestSpec()).all().get().values().stream()
                .mapToLong(Long::longValue)
                .sum();
    }
}
