package weir;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.fluss.client.admin.OffsetSpec;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.scanner.ScanRecord;
import org.apache.fluss.client.table.scanner.log.LogScanner;
import org.apache.fluss.client.table.writer.AppendWriter;
import org.apache.fluss.metadata.LogFormat;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableBucket;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.types.DataTypes;
import org.apache.fluss.types.RowType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class LogTableTest extends WeirTest {
    private static final Schema EVENTS =
            Schema.newBuilder()
                    .column("id", DataTypes.BIGINT())
                    .column("kind", DataTypes.STRING())
                    .column("value", DataTypes.DOUBLE())
                    .build();

    private TableDescriptor.Builder events() {
        return TableDescriptor.builder().schema(EVENTS).distributedBy(1);
    }

    @ParameterizedTest
    @EnumSource(LogFormat.class)
    void everyType(LogFormat format) throws Exception {
        TableDescriptor descriptor =
                TableDescriptor.builder()
                        .schema(EveryType.schema().build())
                        .distributedBy(1)
                        .logFormat(format)
                        .build();
        Table table = create("t", descriptor);
        append(table, EveryType.full(), EveryType.empty(2));
        assertEquals(
                List.of("+A " + EveryType.fullText(), "+A " + EveryType.emptyText(2)), changes(table, 2));
    }

    @ParameterizedTest
    @ValueSource(strings = {"none", "lz4_frame", "zstd"})
    void compressed(String compression) throws Exception {
        Table table =
                create("t", events().property("table.log.arrow.compression.type", compression).build());
        AppendWriter writer = table.newAppend().createWriter();
        for (long i = 0; i < 10_000; i++) {
            writer.append(row(i, "kind " + i % 7, i / 2.0));
        }
        writer.flush();
        List<String> told = changes(table, 10_000);
        for (int i = 0; i < 10_000; i++) {
            assertEquals("+A (" + i + ", kind " + i % 7 + ", " + i / 2.0 + ")", told.get(i));
        }
    }

    @Test
    void projected() throws Exception {
        Table table = create("t", events().build());
        append(table, row(1L, "a", 0.5), row(2L, null, 1.5));
        RowType type = DataTypes.ROW(DataTypes.DOUBLE(), DataTypes.BIGINT());
        assertEquals(
                List.of("+A (0.5, 1)", "+A (1.5, 2)"),
                changes(table, table.newScan().project(new int[] {2, 0}), type, 0, 2));
    }

    @Test
    void fromOffsetsAndTimes() throws Exception {
        Table table = create("t", events().build());
        append(table, row(1L, "a", null), row(2L, "b", null));
        Thread.sleep(50);
        long between = System.currentTimeMillis();
        Thread.sleep(50);
        append(table, row(3L, "c", null));
        assertEquals(List.of("+A (2, b, null)", "+A (3, c, null)"),
                changes(table, table.newScan(), EVENTS.getRowType(), 1, 2));
        List<Integer> bucket = List.of(0);
        assertEquals(2L, admin.listOffsets(path("t"), bucket, new OffsetSpec.TimestampSpec(between)).bucketResult(0).get());
        assertEquals(0L, admin.listOffsets(path("t"), bucket, new OffsetSpec.EarliestSpec()).bucketResult(0).get());
        assertEquals(3L, end("t", 1));
    }

    @Test
    void bucketsByKey() throws Exception {
        Table table =
                create("t", TableDescriptor.builder().schema(EVENTS).distributedBy(3, "kind").build());
        AppendWriter writer = table.newAppend().createWriter();
        for (long i = 0; i < 300; i++) {
            writer.append(row(i, "kind " + i % 10, 0.0));
        }
        writer.flush();
        List<List<String>> kindsOfBucket = new ArrayList<>();
        int total = 0;
        try (LogScanner scanner = table.newScan().createLogScanner()) {
            for (int bucket = 0; bucket < 3; bucket++) {
                scanner.subscribeFromBeginning(bucket);
                kindsOfBucket.add(new ArrayList<>());
            }
            long end = System.nanoTime() + PATIENCE.toNanos();
            while (total < 300 && System.nanoTime() < end) {
                var records = scanner.poll(Duration.ofSeconds(1));
                for (TableBucket bucket : records.buckets()) {
                    for (ScanRecord record : records.records(bucket)) {
                        String kind = record.getRow().getString(1).toString();
                        List<String> kinds = kindsOfBucket.get(bucket.getBucket());
                        if (!kinds.contains(kind)) {
                            kinds.add(kind);
                        }
                        total++;
                    }
                }
            }
        }
        assertEquals(300, total);
        assertEquals(10, kindsOfBucket.stream().mapToInt(List::size).sum(), "a kind is in one bucket");
    }

    @Test
    void aScannerWaitsForWhatComes() throws Exception {
        Table table = create("t", events().build());
        try (LogScanner scanner = table.newScan().createLogScanner()) {
            scanner.subscribe(0, 0);
            assertEquals(0, scanner.poll(Duration.ofMillis(100)).count());
            append(table, row(1L, "a", 1.0));
            int count = 0;
            long end = System.nanoTime() + PATIENCE.toNanos();
            while (count == 0 && System.nanoTime() < end) {
                count += scanner.poll(Duration.ofSeconds(1)).count();
            }
            assertEquals(1, count);
        }
    }

    @Test
    void limitScans() throws Exception {
        Table table = create("t", events().build());
        append(table, row(1L, "a", 1.0), row(2L, "b", 2.0), row(3L, "c", 3.0));
        TableBucket bucket = new TableBucket(table.getTableInfo().getTableId(), 0);
        // The last ones, as the client asks for of a log.
        assertEquals(
                List.of("(2, b, 2.0)", "(3, c, 3.0)"),
                rows(table.newScan().limit(2).createBatchScanner(bucket), EVENTS.getRowType()));
    }
}
