package weir;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.config.cluster.ConfigEntry;
import org.apache.fluss.exception.DatabaseNotEmptyException;
import org.apache.fluss.exception.DatabaseNotExistException;
import org.apache.fluss.exception.InvalidConfigException;
import org.apache.fluss.exception.PartitionAlreadyExistsException;
import org.apache.fluss.exception.PartitionNotExistException;
import org.apache.fluss.exception.TableAlreadyExistException;
import org.apache.fluss.exception.TableNotExistException;
import org.apache.fluss.metadata.DatabaseDescriptor;
import org.apache.fluss.metadata.PartitionInfo;
import org.apache.fluss.metadata.PartitionSpec;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.metadata.TableBucket;
import org.apache.fluss.metadata.TableChange;
import org.apache.fluss.metadata.TableDescriptor;
import org.apache.fluss.metadata.TableInfo;
import org.apache.fluss.types.DataTypes;
import org.junit.jupiter.api.Test;

class AdminTest extends WeirTest {
    private static final Schema SCHEMA =
            Schema.newBuilder()
                    .column("id", DataTypes.INT())
                    .column("name", DataTypes.STRING())
                    .withComment("as people say it")
                    .primaryKey("id")
                    .build();

    private static <T extends Exception> void fails(Class<T> how, CompletableFuture<?> call) {
        ExecutionException failed = assertThrows(ExecutionException.class, call::get);
        assertInstanceOf(how, failed.getCause());
    }

    @Test
    void databases() throws Exception {
        String other = database + "_other";
        admin.createDatabase(
                        other,
                        DatabaseDescriptor.builder().comment("a comment").customProperty("k", "v").build(),
                        false)
                .get();
        assertTrue(admin.databaseExists(other).get());
        assertTrue(admin.listDatabases().get().contains(other));
        assertEquals(
                Map.of("k", "v"),
                admin.getDatabaseInfo(other).get().getDatabaseDescriptor().getCustomProperties());
        admin.createTable(org.apache.fluss.metadata.TablePath.of(other, "t"), descriptor().build(), false).get();
        fails(DatabaseNotEmptyException.class, admin.dropDatabase(other, false, false));
        admin.dropDatabase(other, false, true).get();
        assertFalse(admin.databaseExists(other).get());
        fails(DatabaseNotExistException.class, admin.getDatabaseInfo(other));
    }

    private static TableDescriptor.Builder descriptor() {
        return TableDescriptor.builder().schema(SCHEMA).distributedBy(2);
    }

    @Test
    void tables() throws Exception {
        admin.createTable(
                        path("t"),
                        descriptor()
                                .comment("of the test")
                                .property("table.log.ttl", "2d")
                                .customProperty("owner", "me")
                                .build(),
                        false)
                .get();
        TableInfo info = admin.getTableInfo(path("t")).get();
        assertEquals(SCHEMA, info.getSchema());
        assertEquals(2, info.getNumBuckets());
        assertEquals("of the test", info.getComment().orElseThrow());
        assertEquals("me", info.getCustomProperties().toMap().get("owner"));
        assertEquals("2d", info.getProperties().toMap().get("table.log.ttl"));
        assertEquals(List.of("t"), admin.listTables(database).get());
        fails(TableAlreadyExistException.class, admin.createTable(path("t"), descriptor().build(), false));
        admin.createTable(path("t"), descriptor().build(), true).get();
        assertTrue(admin.tableExists(path("t")).get());
        admin.dropTable(path("t"), false).get();
        assertFalse(admin.tableExists(path("t")).get());
        fails(TableNotExistException.class, admin.getTableInfo(path("t")));
        fails(
                InvalidConfigException.class,
                admin.createTable(path("t"), descriptor().property("table.kv.row.ttl", "soon").build(), false));
    }

    @Test
    void schemasChangeAndOldRowsStay() throws Exception {
        Table table = create("t", TableDescriptor.builder().schema(SCHEMA).distributedBy(1).build());
        upsert(table, row(1, "old"));
        admin.alterTable(
                        path("t"),
                        List.of(
                                TableChange.addColumn(
                                        "points", DataTypes.BIGINT(), "added", TableChange.ColumnPosition.last())),
                        false)
                .get();
        assertEquals(2, admin.getTableSchema(path("t")).get().getSchemaId());
        assertEquals(SCHEMA, admin.getTableSchema(path("t"), 1).get().getSchema());
        try (Table newer = connection.getTable(path("t"))) {
            assertEquals("(1, old, null)", lookup(newer, 1));
            upsert(newer, row(2, "new", 7L));
            assertEquals("(2, new, 7)", lookup(newer, 2));
            var points = newer.newUpsert().partialUpdate("id", "points").createWriter();
            points.upsert(row(1, null, 8L)).get();
            assertEquals("(1, old, 8)", lookup(newer, 1));
            assertEquals(
                    List.of("+I (1, old, null)", "+I (2, new, 7)", "-U (1, old, null)", "+U (1, old, 8)"),
                    changes(newer, 4));
        }
    }

    @Test
    void optionsChange() throws Exception {
        admin.createTable(path("t"), descriptor().build(), false).get();
        admin.alterTable(path("t"), List.of(TableChange.set("owner", "you")), false).get();
        assertEquals("you", admin.getTableInfo(path("t")).get().getCustomProperties().toMap().get("owner"));
        admin.alterTable(path("t"), List.of(TableChange.reset("owner")), false).get();
        assertFalse(admin.getTableInfo(path("t")).get().getCustomProperties().toMap().containsKey("owner"));
    }

    @Test
    void partitions() throws Exception {
        Schema schema =
                Schema.newBuilder()
                        .column("id", DataTypes.INT())
                        .column("day", DataTypes.STRING())
                        .column("v", DataTypes.STRING())
                        .primaryKey("id", "day")
                        .build();
        Table table =
                create("t", TableDescriptor.builder().schema(schema).distributedBy(1).partitionedBy("day").build());
        PartitionSpec monday = new PartitionSpec(Map.of("day", "monday"));
        PartitionSpec friday = new PartitionSpec(Map.of("day", "friday"));
        admin.createPartition(path("t"), monday, false).get();
        admin.createPartition(path("t"), friday, false).get();
        fails(PartitionAlreadyExistsException.class, admin.createPartition(path("t"), monday, false));
        upsert(table, row(1, "monday", "m"), row(1, "friday", "f"));
        assertEquals("(1, monday, m)", lookup(table, 1, "monday"));
        assertEquals("(1, friday, f)", lookup(table, 1, "friday"));
        List<PartitionInfo> all = admin.listPartitionInfos(path("t")).get();
        assertEquals(2, all.size());
        PartitionInfo first = admin.listPartitionInfos(path("t"), friday).get().get(0);
        TableBucket bucket = new TableBucket(table.getTableInfo().getTableId(), first.getPartitionId(), 0);
        assertEquals(
                List.of("(1, friday, f)"),
                rows(table.newScan().limit(10).createBatchScanner(bucket), schema.getRowType()));
        admin.dropPartition(path("t"), friday, false).get();
        fails(PartitionNotExistException.class, admin.dropPartition(path("t"), friday, false));
        assertEquals(1, admin.listPartitionInfos(path("t")).get().size());
    }

    @Test
    void theCluster() throws Exception {
        assertFalse(admin.getServerNodes().get().isEmpty());
        assertTrue(
                admin.describeClusterConfigs().get().stream()
                        .map(ConfigEntry::key)
                        .toList()
                        .contains("default.bucket.number"));
    }

    @Test
    void producerOffsets() throws Exception {
        admin.createTable(path("t"), descriptor().build(), false).get();
        TableBucket bucket = new TableBucket(admin.getTableInfo(path("t")).get().getTableId(), 1);
        String producer = database;
        admin.registerProducerOffsets(producer, Map.of(bucket, 5L)).get();
        assertEquals(
                Map.of(bucket, 5L),
                admin.getProducerOffsets(producer).get().getTableOffsets().get(bucket.getTableId()));
        admin.deleteProducerOffsets(producer).get();
    }
}
