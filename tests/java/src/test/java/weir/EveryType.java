package weir;

import java.math.BigDecimal;
import java.util.Map;
import org.apache.fluss.metadata.Schema;
import org.apache.fluss.row.BinaryString;
import org.apache.fluss.row.Decimal;
import org.apache.fluss.row.GenericArray;
import org.apache.fluss.row.GenericMap;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.row.TimestampLtz;
import org.apache.fluss.row.TimestampNtz;
import org.apache.fluss.types.DataTypes;

/** A schema with every type of the client, two rows of it, and their text. */
final class EveryType {
    private EveryType() {}

    static Schema.Builder schema() {
        return Schema.newBuilder()
                .column("id", DataTypes.INT())
                .column("flag", DataTypes.BOOLEAN())
                .column("tiny", DataTypes.TINYINT())
                .column("small", DataTypes.SMALLINT())
                .column("big", DataTypes.BIGINT())
                .column("single", DataTypes.FLOAT())
                .column("wide", DataTypes.DOUBLE())
                .column("code", DataTypes.CHAR(3))
                .column("text", DataTypes.STRING())
                .column("fixed", DataTypes.BINARY(3))
                .column("bytes", DataTypes.BYTES())
                .column("price", DataTypes.DECIMAL(10, 2))
                .column("total", DataTypes.DECIMAL(30, 5))
                .column("day", DataTypes.DATE())
                .column("time", DataTypes.TIME())
                .column("at", DataTypes.TIMESTAMP(3))
                .column("at_nanos", DataTypes.TIMESTAMP(9))
                .column("instant", DataTypes.TIMESTAMP_LTZ(3))
                .column("instant_nanos", DataTypes.TIMESTAMP_LTZ(9))
                .column("tags", DataTypes.ARRAY(DataTypes.STRING()))
                .column("counts", DataTypes.MAP(DataTypes.STRING().copy(false), DataTypes.INT()))
                .column(
                        "place",
                        DataTypes.ROW(
                                DataTypes.FIELD("x", DataTypes.INT()),
                                DataTypes.FIELD("y", DataTypes.STRING())));
    }

    static GenericRow full() {
        return GenericRow.of(
                1,
                true,
                (byte) -1,
                (short) 300,
                1L << 40,
                1.5f,
                -2.25,
                BinaryString.fromString("abc"),
                BinaryString.fromString("Grüße, 世界"),
                new byte[] {1, 2, 3},
                new byte[] {},
                Decimal.fromBigDecimal(new BigDecimal("12345678.90"), 10, 2),
                Decimal.fromBigDecimal(new BigDecimal("-1234567890123456789012345.12345"), 30, 5),
                20_000,
                86_399_000,
                TimestampNtz.fromMillis(1_700_000_000_123L),
                TimestampNtz.fromMillis(1_700_000_000_123L, 456_789),
                TimestampLtz.fromEpochMillis(-1L),
                TimestampLtz.fromEpochMillis(1_700_000_000_123L, 999_999),
                new GenericArray(new Object[] {BinaryString.fromString("a"), null}),
                new GenericMap(Map.of(BinaryString.fromString("k"), 7)),
                GenericRow.of(5, BinaryString.fromString("y")));
    }

    static String fullText() {
        return "(1, true, -1, 300, 1099511627776, 1.5, -2.25, abc, Grüße, 世界, 010203, , 12345678.90, "
                + "-1234567890123456789012345.12345, 20000, 86399000, 2023-11-14T22:13:20.123, "
                + "2023-11-14T22:13:20.123456789, 1969-12-31T23:59:59.999Z, 2023-11-14T22:13:20.123999999Z, "
                + "[a, null], {k=7}, (5, y))";
    }

    static GenericRow empty(int id) {
        GenericRow row = new GenericRow(schema().build().getColumns().size());
        row.setField(0, id);
        return row;
    }

    static String emptyText(int id) {
        int others = schema().build().getColumns().size() - 1;
        return "(" + id + ", null".repeat(others) + ")";
    }
}
