//! A connection to the server of WEIR_BOOTSTRAP, with a database of the test's own.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fluss::client::{FlussAdmin, FlussConnection, LogScanner, EARLIEST_OFFSET};
use fluss::config::Config;
use fluss::metadata::{SchemaBuilder, TableDescriptor, TablePath};
use fluss::record::ScanRecord;

pub const PATIENCE: Duration = Duration::from_secs(30);

pub struct Place {
    pub connection: FlussConnection,
    pub admin: Arc<FlussAdmin>,
    database: String,
}

impl Place {
    pub async fn new(database: &str) -> Place {
        let mut config = Config::default();
        config.bootstrap_servers = std::env::var("WEIR_BOOTSTRAP").expect("WEIR_BOOTSTRAP is host:port");
        config.writer_batch_timeout_ms = 1;
        let connection = FlussConnection::new(config).await.unwrap();
        let admin = connection.get_admin().unwrap();
        admin.drop_database(database, true, true).await.unwrap();
        admin.create_database(database, None, false).await.unwrap();
        Place { connection, admin, database: database.to_string() }
    }

    pub fn path(&self, table: &str) -> TablePath {
        TablePath::new(self.database.as_str(), table)
    }

    /// A table of some buckets, which are chosen by the key.
    pub async fn create(&self, table: &str, schema: SchemaBuilder, buckets: i32) -> TablePath {
        let descriptor = TableDescriptor::builder()
            .schema(schema.build().unwrap())
            .distributed_by(Some(buckets), vec![])
            .build()
            .unwrap();
        self.create_as(table, &descriptor).await
    }

    pub async fn create_as(&self, table: &str, descriptor: &TableDescriptor) -> TablePath {
        let path = self.path(table);
        self.admin.create_table(&path, descriptor, false).await.unwrap();
        path
    }

    pub async fn done(&self) {
        self.admin.drop_database(&self.database, false, true).await.unwrap();
        self.connection.close(Duration::from_secs(5)).await.unwrap();
    }
}

/// The first `count` records of some buckets from the beginning, in the order of arrival.
pub async fn read(scanner: &LogScanner, buckets: i32, count: usize) -> Vec<ScanRecord> {
    let from: HashMap<i32, i64> = (0..buckets).map(|bucket| (bucket, EARLIEST_OFFSET)).collect();
    scanner.subscribe_buckets(&from).await.unwrap();
    let begin = Instant::now();
    let mut records: Vec<ScanRecord> = Vec::new();
    while records.len() < count && begin.elapsed() < PATIENCE {
        records.extend(scanner.poll(Duration::from_millis(500)).await.unwrap());
    }
    assert_eq!(records.len(), count);
    assert!(scanner.poll(Duration::from_millis(100)).await.unwrap().is_empty(), "there are more records");
    records
}
