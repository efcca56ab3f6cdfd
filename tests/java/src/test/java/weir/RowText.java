package weir;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;
import org.apache.fluss.row.InternalArray;
import org.apache.fluss.row.InternalMap;
import org.apache.fluss.row.InternalRow;
import org.apache.fluss.types.ArrayType;
import org.apache.fluss.types.DataType;
import org.apache.fluss.types.MapType;
import org.apache.fluss.types.RowType;

/** Rows as text that says everything: (1, abc, null), [1, 2], {a: 1}, bytes in hex. */
final class RowText {
    private RowText() {}

    static String of(InternalRow row, RowType type) {
        List<String> fields = new ArrayList<>();
        for (int i = 0; i < type.getFieldCount(); i++) {
            DataType field = type.getTypeAt(i);
            fields.add(of(InternalRow.createFieldGetter(field, i).getFieldOrNull(row), field));
        }
        return "(" + String.join(", ", fields) + ")";
    }

    private static String of(Object value, DataType type) {
        if (value == null) {
            return "null";
        }
        if (value instanceof byte[] bytes) {
            return HexFormat.of().formatHex(bytes);
        }
        if (type instanceof RowType row) {
            return of((InternalRow) value, row);
        }
        if (type instanceof ArrayType array) {
            return elements((InternalArray) value, array.getElementType()).toString();
        }
        if (type instanceof MapType map) {
            List<String> keys = elements(((InternalMap) value).keyArray(), map.getKeyType());
            List<String> values = elements(((InternalMap) value).valueArray(), map.getValueType());
            TreeMap<String, String> sorted = new TreeMap<>();
            for (int i = 0; i < keys.size(); i++) {
                sorted.put(keys.get(i), values.get(i));
            }
            return sorted.toString();
        }
        return value.toString();
    }

    private static List<String> elements(InternalArray array, DataType type) {
        InternalArray.ElementGetter getter = InternalArray.createElementGetter(type);
        List<String> elements = new ArrayList<>();
        for (int i = 0; i < array.size(); i++) {
            elements.add(of(getter.getElementOrNull(array, i), type));
        }
        return elements;
    }
}
