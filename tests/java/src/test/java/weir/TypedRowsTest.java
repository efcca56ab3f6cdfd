package weir;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.List;
import org.apache.fluss.client.table.Table;
import org.apache.fluss.client.table.scanner.TypedScanRecord;
import org.apache.fluss.client.table.scanner.log.TypedLogScanner;
import org.apache.fluss.client.table.writer.TypedAppendWriter;
import org.apache.fluss.client.table.writer.TypedUpsertWriter;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.types.DataTypes;
import org.junit.jupiter.api.Test;

/** Rows as objects of a class. */
class TypedRowsTest extends WeirTest {
    public static class Trade {
        public Integer id;
        public String symbol;
        public Boolean bought;
        public BigDecimal price;
        public Double weight;
        public LocalDate day;
        public LocalTime time;
        public LocalDateTime local;
        public Instant at;
        public byte[] note;

        public static Trade of(int id, String symbol) {
            Trade trade = new Trade();
            trade.id = id;
            trade.symbol = symbol;
            trade.bought = id % 2 == 0;
            trade.price = new BigDecimal("10.50");
            trade.weight = 0.25;
            trade.day = LocalDate.of(2026, 1, 2);
            trade.time = LocalTime.of(3, 4, 5);
            trade.local = LocalDateTime.of(2026, 1, 2, 3, 4, 5);
            trade.at = Instant.ofEpochMilli(1_700_000_000_123L);
            trade.note = new byte[] {(byte) id};
            return trade;
        }

        @Override
        public String toString() {
            return id + " " + symbol + " " + bought + " " + price + " " + weight + " " + day + " " + time + " "
                    + local + " " + at + " " + (note == null ? null : note[0]);
        }
    }

    public static class TradeKey {
        public Integer id;
    }

    private static Schema.Builder trades() {
        return Schema.newBuilder()
                .column("id", DataTypes.INT())
                .column("symbol", DataTypes.STRING())
                .column("bought", DataTypes.BOOLEAN())
                .column("price", DataTypes.DECIMAL(10, 2))
                .column("weight", DataTypes.DOUBLE())
                .column("day", DataTypes.DATE())
                .column("time", DataTypes.TIME())
                .column("local", DataTypes.TIMESTAMP(3))
                .column("at", DataTypes.TIMESTAMP_LTZ(3))
                .column("note", DataTypes.BYTES());
    }

    @Test
    void appendedAndScanned() throws Exception {
        Table table = create("t", trades().build());
        TypedAppendWriter<Trade> writer = table.newAppend().createTypedWriter(Trade.class);
        writer.append(Trade.of(1, "A"));
        writer.append(Trade.of(2, null));
        writer.flush();
        assertEquals(
                List.of("+A " + Trade.of(1, "A"), "+A " + Trade.of(2, null)), typedChanges(table, 2));
    }

    @Test
    void upsertedLookedUpAndDeleted() throws Exception {
        Table table = create("t", trades().primaryKey("id").build());
        TypedUpsertWriter<Trade> writer = table.newUpsert().createTypedWriter(Trade.class);
        writer.upsert(Trade.of(1, "A")).get();
        writer.upsert(Trade.of(1, "B")).get();
        TradeKey key = new TradeKey();
        key.id = 1;
        var found =
                table.newLookup().createTypedLookuper(TradeKey.class).lookup(key).get().getSingletonRow();
        assertEquals("B", found.getString(1).toString());
        writer.delete(Trade.of(1, "B")).get();
        assertEquals(
                List.of(
                        "+I " + Trade.of(1, "A"),
                        "-U " + Trade.of(1, "A"),
                        "+U " + Trade.of(1, "B"),
                        "-D " + Trade.of(1, "B")),
                typedChanges(table, 4));
    }

    private static List<String> typedChanges(Table table, int count) throws Exception {
        List<String> told = new ArrayList<>();
        try (TypedLogScanner<Trade> scanner = table.newScan().createTypedLogScanner(Trade.class)) {
            scanner.subscribeFromBeginning(0);
            long end = System.nanoTime() + PATIENCE.toNanos();
            while (told.size() < count && System.nanoTime() < end) {
                for (TypedScanRecord<Trade> record : scanner.poll(Duration.ofSeconds(1))) {
                    told.add(record.getChangeType().shortString() + " " + record.getValue());
                }
            }
        }
        return told;
    }
}
