package weir;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.fluss.client.admin.KvSnapshotLease;
import org.apache.fluss.client.metadata.KvSnapshots;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.metadata.KvFormat;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableBucket;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.row.InternalRow;
import org.apache.fluss.types.DataTypes;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Kv snapshots, which the client downloads and opens with its own RocksDB. The server takes them often. */
class SnapshotTest extends WeirTest {
    private static final Schema SCHEMA =
            Schema.newBuilder()
                    .column("id", DataTypes.INT())
                    .column("name", DataTypes.STRING())
                    .column("points", DataTypes.BIGINT())
                    .primaryKey("id")
                    .build();

    /** Rows that may expire have a time in the snapshot, which the client must not take for a part of them. */
    @ParameterizedTest
    @CsvSource({"COMPACTED, 0ms", "INDEXED, 0ms", "COMPACTED, 1d", "INDEXED, 1d"})
    void aSnapshotAndTheChangelogBehindItAreTheState(KvFormat format, String ttl) throws Exception {
        Table table =
                create(
                        "t",
                        TableDescriptor.builder()
                                .schema(SCHEMA)
                                .distributedBy(1)
                                .kvFormat(format)
                                .property("table.kv.row.ttl", ttl)
                                .build());
        List<String> expected = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            upsert(table, row(i, "name " + i, i % 3 == 0 ? null : (long) i));
            expected.add("(" + i + ", name " + i + ", " + (i % 3 == 0 ? "null" : i) + ")");
        }
        expected.sort(null);
        KvSnapshots snapshots = awaitSnapshot(100);
        upsert(table, row(0, "changed", 1L));
        delete(table, row(1, null, null));

        TableBucket bucket = new TableBucket(snapshots.getTableId(), 0);
        long id = snapshots.getSnapshotId(0).getAsLong();
        KvSnapshotLease lease = admin.createKvSnapshotLease("reader", 60_000);
        assertEquals(Set.of(), lease.acquireSnapshots(Map.of(bucket, id)).get().getUnavailableTableBucketSet());
        assertEquals(expected, rows(table.newScan().createBatchScanner(bucket, id), SCHEMA.getRowType()));
        lease.dropLease().get();
        assertEquals(
                List.of("-U (0, name 0, null)", "+U (0, changed, 1)", "-D (1, name 1, 1)"),
                changes(table, table.newScan(), SCHEMA.getRowType(), 100, 3));
    }

    private KvSnapshots awaitSnapshot(long offset) throws Exception {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            KvSnapshots snapshots = admin.getLatestKvSnapshots(path("t")).get();
            if (snapshots.getLogOffset(0).orElse(-1) == offset) {
                return snapshots;
            }
            assertTrue(System.nanoTime() < end, "no kv snapshot was taken");
            Thread.sleep(50);
        }
    }
}
