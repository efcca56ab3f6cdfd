use fluss::metadata::{DataTypes, Schema, TableDescriptor};
use fluss::row::{DataGetters, Date, Datum, Decimal, GenericRow, Time, TimestampLtz, TimestampNtz};
use fluss::rpc::message::OffsetSpec;
use weir_rust_client_tests::{read, Place};

#[tokio::test]
async fn rows_come_back_in_their_order() {
    let place = Place::new("rust_log_order").await;
    let schema = Schema::builder().column("id", DataTypes::bigint()).column("text", DataTypes::string());
    let path = place.create("t", schema, 1).await;
    let table = place.connection.get_table(&path).await.unwrap();
    let writer = table.new_append().unwrap().create_writer().unwrap();
    for i in 0..5_000i64 {
        let text = format!("row {i}");
        writer.append(&GenericRow::from_data(vec![Datum::from(i), Datum::from(text.as_str())])).unwrap();
    }
    writer.flush().await.unwrap();
    let scanner = table.new_scan().create_log_scanner().unwrap();
    for (i, record) in read(&scanner, 1, 5_000).await.iter().enumerate() {
        assert_eq!(record.offset(), i as i64);
        assert_eq!(record.change_type().short_string(), "+A");
        assert_eq!(record.row().get_long(0).unwrap(), i as i64);
        assert_eq!(record.row().get_string(1).unwrap(), format!("row {i}"));
    }
    let ends = place.admin.list_offsets(&path, &[0], OffsetSpec::Latest).await.unwrap();
    assert_eq!(ends[&0], 5_000);
    place.done().await;
}

#[tokio::test]
async fn every_simple_type() {
    let place = Place::new("rust_log_types").await;
    let schema = Schema::builder()
        .column("flag", DataTypes::boolean())
        .column("tiny", DataTypes::tinyint())
        .column("small", DataTypes::smallint())
        .column("int", DataTypes::int())
        .column("big", DataTypes::bigint())
        .column("single", DataTypes::float())
        .column("wide", DataTypes::double())
        .column("code", DataTypes::char(3))
        .column("text", DataTypes::string())
        .column("fixed", DataTypes::binary(2))
        .column("bytes", DataTypes::bytes())
        .column("price", DataTypes::decimal(10, 2))
        .column("day", DataTypes::date())
        .column("time", DataTypes::time())
        .column("at", DataTypes::timestamp_with_precision(9))
        .column("instant", DataTypes::timestamp_ltz_with_precision(3));
    let path = place.create("t", schema, 1).await;
    let table = place.connection.get_table(&path).await.unwrap();
    let writer = table.new_append().unwrap().create_writer().unwrap();
    let mut full = GenericRow::new(16);
    full.set_field(0, true);
    full.set_field(1, -1i8);
    full.set_field(2, 300i16);
    full.set_field(3, -70_000i32);
    full.set_field(4, 1i64 << 40);
    full.set_field(5, 1.5f32);
    full.set_field(6, -2.25f64);
    full.set_field(7, "abc");
    full.set_field(8, "Grüße, 世界");
    full.set_field(9, &[1u8, 2][..]);
    full.set_field(10, &[][..]);
    full.set_field(11, Decimal::from_unscaled_long(1_234_567_890, 10, 2).unwrap());
    full.set_field(12, Date::new(20_000));
    full.set_field(13, Time::new(86_399_000));
    full.set_field(14, TimestampNtz::from_millis_nanos(1_700_000_000_123, 456_789).unwrap());
    full.set_field(15, TimestampLtz::new(-1));
    writer.append(&full).unwrap();
    writer.append(&GenericRow::new(16)).unwrap();
    writer.flush().await.unwrap();

    let scanner = table.new_scan().create_log_scanner().unwrap();
    let records = read(&scanner, 1, 2).await;
    let row = records[0].row();
    assert!(row.get_boolean(0).unwrap());
    assert_eq!(row.get_byte(1).unwrap(), -1);
    assert_eq!(row.get_short(2).unwrap(), 300);
    assert_eq!(row.get_int(3).unwrap(), -70_000);
    assert_eq!(row.get_long(4).unwrap(), 1 << 40);
    assert_eq!(row.get_float(5).unwrap(), 1.5);
    assert_eq!(row.get_double(6).unwrap(), -2.25);
    assert_eq!(row.get_char(7, 3).unwrap(), "abc");
    assert_eq!(row.get_string(8).unwrap(), "Grüße, 世界");
    assert_eq!(row.get_binary(9, 2).unwrap(), &[1, 2]);
    assert_eq!(row.get_bytes(10).unwrap(), &[] as &[u8]);
    assert_eq!(row.get_decimal(11, 10, 2).unwrap(), Decimal::from_unscaled_long(1_234_567_890, 10, 2).unwrap());
    assert_eq!(row.get_date(12).unwrap(), Date::new(20_000));
    assert_eq!(row.get_time(13).unwrap(), Time::new(86_399_000));
    assert_eq!(
        row.get_timestamp_ntz(14, 9).unwrap(),
        TimestampNtz::from_millis_nanos(1_700_000_000_123, 456_789).unwrap()
    );
    assert_eq!(row.get_timestamp_ltz(15, 3).unwrap(), TimestampLtz::new(-1));
    for column in 0..16 {
        assert!(records[1].row().is_null_at(column).unwrap(), "column {column}");
    }
    place.done().await;
}

#[tokio::test]
async fn projections_and_arrow_batches() {
    let place = Place::new("rust_log_projection").await;
    let schema = Schema::builder()
        .column("a", DataTypes::int())
        .column("b", DataTypes::string())
        .column("c", DataTypes::double());
    let path = place.create("t", schema, 1).await;
    let table = place.connection.get_table(&path).await.unwrap();
    let writer = table.new_append().unwrap().create_writer().unwrap();
    for i in 0..100i32 {
        let mut row = GenericRow::new(3);
        row.set_field(0, i);
        row.set_field(1, "text");
        row.set_field(2, f64::from(i) / 2.0);
        writer.append(&row).unwrap();
    }
    writer.flush().await.unwrap();
    let scanner = table.new_scan().project(&[2, 0]).unwrap().create_log_scanner().unwrap();
    for (i, record) in read(&scanner, 1, 100).await.iter().enumerate() {
        assert_eq!(record.row().get_double(0).unwrap(), i as f64 / 2.0);
        assert_eq!(record.row().get_int(1).unwrap(), i as i32);
    }
    let batches = table.new_scan().project_by_name(&["c"]).unwrap().create_record_batch_log_scanner().unwrap();
    batches.subscribe(0, 0).await.unwrap();
    let mut rows = 0;
    while rows < 100 {
        for batch in batches.poll(std::time::Duration::from_secs(5)).await.unwrap() {
            assert_eq!(batch.batch().num_columns(), 1);
            rows += batch.num_records();
        }
    }
    assert_eq!(rows, 100);
    place.done().await;
}

#[tokio::test]
async fn partitions() {
    let place = Place::new("rust_log_partitions").await;
    let descriptor = TableDescriptor::builder()
        .schema(
            Schema::builder()
                .column("day", DataTypes::string())
                .column("n", DataTypes::int())
                .build()
                .unwrap(),
        )
        .partitioned_by(vec!["day"])
        .distributed_by(Some(1), vec![])
        .build()
        .unwrap();
    let path = place.create_as("t", &descriptor).await;
    for day in ["monday", "friday"] {
        let spec = fluss::metadata::PartitionSpec::new(std::collections::HashMap::from([("day", day)]));
        place.admin.create_partition(&path, &spec, false).await.unwrap();
    }
    let table = place.connection.get_table(&path).await.unwrap();
    let writer = table.new_append().unwrap().create_writer().unwrap();
    for i in 0..10i32 {
        let mut row = GenericRow::new(2);
        row.set_field(0, if i % 2 == 0 { "monday" } else { "friday" });
        row.set_field(1, i);
        writer.append(&row).unwrap();
    }
    writer.flush().await.unwrap();
    let partitions = place.admin.list_partition_infos(&path).await.unwrap();
    assert_eq!(partitions.len(), 2);
    let scanner = table.new_scan().create_log_scanner().unwrap();
    let monday = partitions.iter().find(|p| p.get_partition_name() == "monday").unwrap();
    scanner.subscribe_partition(monday.get_partition_id(), 0, 0).await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < 5 {
        for record in scanner.poll(std::time::Duration::from_secs(5)).await.unwrap() {
            seen.push(record.row().get_int(1).unwrap());
        }
    }
    assert_eq!(seen, [0, 2, 4, 6, 8]);
    place.done().await;
}
