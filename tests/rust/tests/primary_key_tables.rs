use fluss::client::Lookuper;
use fluss::metadata::{DataTypes, Schema, SchemaBuilder, TableBucket, TableDescriptor};
use fluss::row::{DataGetters, GenericRow};
use weir_rust_client_tests::{read, Place};

fn customers() -> SchemaBuilder {
    Schema::builder()
        .column("id", DataTypes::int())
        .column("name", DataTypes::string())
        .column("points", DataTypes::bigint())
        .primary_key(vec!["id"])
        .unwrap()
}

fn customer(id: i32, name: &str, points: i64) -> GenericRow<'_> {
    let mut row = GenericRow::new(3);
    row.set_field(0, id);
    row.set_field(1, name);
    row.set_field(2, points);
    row
}

fn key(id: i32) -> GenericRow<'static> {
    let mut row = GenericRow::new(3);
    row.set_field(0, id);
    row
}

async fn look(lookuper: &mut Lookuper, id: i32) -> Option<(Option<String>, Option<i64>)> {
    let mut row = GenericRow::new(1);
    row.set_field(0, id);
    let found = lookuper.lookup(&row).await.unwrap();
    found.get_single_row().unwrap().map(|row| {
        (
            (!row.is_null_at(1).unwrap()).then(|| row.get_string(1).unwrap().to_string()),
            (!row.is_null_at(2).unwrap()).then(|| row.get_long(2).unwrap()),
        )
    })
}

#[tokio::test]
async fn rows_and_their_changelog() {
    let place = Place::new("rust_pk_changelog").await;
    let path = place.create("t", customers(), 1).await;
    let table = place.connection.get_table(&path).await.unwrap();
    let writer = table.new_upsert().unwrap().create_writer().unwrap();
    writer.upsert(&customer(1, "Alice", 10)).unwrap().await.unwrap();
    writer.upsert(&customer(2, "Bob", 20)).unwrap().await.unwrap();
    writer.upsert(&customer(1, "Alice", 11)).unwrap().await.unwrap();
    writer.delete(&key(2)).unwrap().await.unwrap();
    let mut lookuper = table.new_lookup().unwrap().create_lookuper().unwrap();
    assert_eq!(look(&mut lookuper, 1).await, Some((Some("Alice".to_string()), Some(11))));
    assert_eq!(look(&mut lookuper, 2).await, None);
    let scanner = table.new_scan().create_log_scanner().unwrap();
    let told: Vec<String> = read(&scanner, 1, 5)
        .await
        .iter()
        .map(|r| {
            let row = r.row();
            format!("{} {} {}", r.change_type().short_string(), row.get_int(0).unwrap(), row.get_long(2).unwrap())
        })
        .collect();
    assert_eq!(told, ["+I 1 10", "+I 2 20", "-U 1 10", "+U 1 11", "-D 2 20"]);
    place.done().await;
}

#[tokio::test]
async fn partial_updates() {
    let place = Place::new("rust_pk_partial").await;
    let path = place.create("t", customers(), 1).await;
    let table = place.connection.get_table(&path).await.unwrap();
    let names = table.new_upsert().unwrap().partial_update_with_column_names(&["id", "name"]).unwrap();
    let points = table.new_upsert().unwrap().partial_update(Some(vec![0, 2])).unwrap();
    names.create_writer().unwrap().upsert(&customer(1, "Alice", 0)).unwrap().await.unwrap();
    points.create_writer().unwrap().upsert(&customer(1, "", 5)).unwrap().await.unwrap();
    let mut lookuper = table.new_lookup().unwrap().create_lookuper().unwrap();
    assert_eq!(look(&mut lookuper, 1).await, Some((Some("Alice".to_string()), Some(5))));
    names.create_writer().unwrap().delete(&key(1)).unwrap().await.unwrap();
    assert_eq!(look(&mut lookuper, 1).await, Some((None, Some(5))));
    place.done().await;
}

#[tokio::test]
async fn many_rows_in_many_buckets() {
    let place = Place::new("rust_pk_many").await;
    let path = place.create("t", customers(), 4).await;
    let table = place.connection.get_table(&path).await.unwrap();
    let writer = table.new_upsert().unwrap().create_writer().unwrap();
    for i in 0..8_000 {
        writer.upsert(&customer(i % 2_000, &format!("name {i}"), i64::from(i))).unwrap();
    }
    writer.flush().await.unwrap();
    let mut lookuper = table.new_lookup().unwrap().create_lookuper().unwrap();
    for id in (0..2_000).step_by(97) {
        let last = 6_000 + id;
        assert_eq!(look(&mut lookuper, id).await, Some((Some(format!("name {last}")), Some(i64::from(last)))));
    }
    let scanner = table.new_scan().create_log_scanner().unwrap();
    let mut points = std::collections::HashMap::new();
    for record in read(&scanner, 4, 2_000 + 2 * 6_000).await {
        points.insert(record.row().get_int(0).unwrap(), record.row().get_long(2).unwrap());
    }
    assert!((0..2_000).all(|id| points[&id] == i64::from(6_000 + id)), "the last change of a key is its row");
    place.done().await;
}

#[tokio::test]
async fn lookups_by_prefix_and_limit_scans() {
    let place = Place::new("rust_pk_prefix").await;
    let descriptor = TableDescriptor::builder()
        .schema(
            Schema::builder()
                .column("customer", DataTypes::string())
                .column("order", DataTypes::bigint())
                .column("item", DataTypes::string())
                .primary_key(vec!["customer", "order"])
                .unwrap()
                .build()
                .unwrap(),
        )
        .distributed_by(Some(1), vec!["customer".to_string()])
        .build()
        .unwrap();
    let path = place.create_as("t", &descriptor).await;
    let table = place.connection.get_table(&path).await.unwrap();
    let writer = table.new_upsert().unwrap().create_writer().unwrap();
    for (customer, order) in [("a", 10i64), ("a", 11), ("ab", 12), ("b", 13)] {
        let mut row = GenericRow::new(3);
        row.set_field(0, customer);
        row.set_field(1, order);
        row.set_field(2, "pen");
        writer.upsert(&row).unwrap();
    }
    writer.flush().await.unwrap();
    let lookup = table.new_lookup().unwrap().lookup_by(vec!["customer".to_string()]);
    let mut lookuper = lookup.create_lookuper().unwrap();
    let mut prefix = GenericRow::new(1);
    prefix.set_field(0, "a");
    let found = lookuper.lookup(&prefix).await.unwrap();
    let orders: Vec<i64> = found.get_rows().unwrap().iter().map(|row| row.get_long(1).unwrap()).collect();
    assert_eq!(orders, [10, 11]);

    let bucket = TableBucket::new(table.get_table_info().table_id, 0);
    let mut rows = 0;
    let mut scanner = table.new_scan().limit(3).unwrap().create_bucket_batch_scanner(bucket).unwrap();
    for batch in scanner.collect_all_batches().await.unwrap() {
        rows += batch.num_records();
    }
    assert_eq!(rows, 3);
    place.done().await;
}
