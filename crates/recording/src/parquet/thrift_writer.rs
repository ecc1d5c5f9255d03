//! Writes Thrift's compact protocol, as far as the metadata of Parquet uses it.

/// The type of a value, as the protocol numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    I32 = 5,
    I64 = 6,
    Binary = 8,
    Struct = 12,
}

/// Writes fields of structures, in the order of their numbers.
#[derive(Debug, Default)]
pub(super) struct ThriftWriter {
    bytes: Vec<u8>,
    /// The last field of each structure that is open.
    last: Vec<i16>,
}

impl ThriftWriter {
    /// Writes one structure.
    pub(super) fn structure(write: impl FnOnce(&mut Self)) -> Vec<u8> {
        let mut writer = Self::default();
        writer.item(write);
        writer.bytes
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.bytes.push(value.to_le_bytes()[0]);
    }

    fn zigzag(&mut self, value: i64) {
        self.varint((value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned());
    }

    fn head(&mut self, id: i16, kind: u8) {
        let last = self.last.last_mut().map_or(0, |last| std::mem::replace(last, id));
        if let Ok(delta @ 1..=15) = u8::try_from(id - last) {
            self.bytes.push(delta << 4 | kind);
        } else {
            self.bytes.push(kind);
            self.zigzag(i64::from(id));
        }
    }

    pub(super) fn truth(&mut self, id: i16, value: bool) {
        self.head(id, if value { 1 } else { 2 });
    }

    pub(super) fn byte(&mut self, id: i16, value: u8) {
        self.head(id, 3);
        self.bytes.push(value);
    }

    pub(super) fn int(&mut self, id: i16, value: i32) {
        self.head(id, ItemKind::I32 as u8);
        self.zigzag(i64::from(value));
    }

    pub(super) fn long(&mut self, id: i16, value: u64) {
        self.head(id, ItemKind::I64 as u8);
        self.zigzag(value.cast_signed());
    }

    pub(super) fn binary(&mut self, id: i16, value: &[u8]) {
        self.head(id, ItemKind::Binary as u8);
        self.binary_item(value);
    }

    pub(super) fn nested(&mut self, id: i16, write: impl FnOnce(&mut Self)) {
        self.head(id, ItemKind::Struct as u8);
        self.item(write);
    }

    /// A list, whose items follow.
    pub(super) fn list(&mut self, id: i16, kind: ItemKind, length: usize) {
        self.head(id, 9);
        self.list_head(kind as u8, length);
    }

    /// A list of truth values.
    pub(super) fn truths(&mut self, id: i16, values: &[bool]) {
        self.head(id, 9);
        self.list_head(1, values.len());
        self.bytes.extend(values.iter().map(|value| if *value { 1 } else { 2 }));
    }

    fn list_head(&mut self, kind: u8, length: usize) {
        if let Ok(short @ 0..=14) = u8::try_from(length) {
            self.bytes.push(short << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            self.varint(length as u64);
        }
    }

    /// An item of a list: a structure.
    pub(super) fn item(&mut self, write: impl FnOnce(&mut Self)) {
        self.last.push(0);
        write(self);
        self.last.pop();
        self.bytes.push(0);
    }

    /// An item of a list: a structure that was written already.
    pub(super) fn raw_item(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// An item of a list: a number.
    pub(super) fn number_item(&mut self, value: i64) {
        self.zigzag(value);
    }

    /// An item of a list: bytes.
    pub(super) fn binary_item(&mut self, value: &[u8]) {
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::super::thrift::{Kind, ThriftReader};
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let bytes = ThriftWriter::structure(|writer| {
            writer.int(1, -7);
            writer.long(20, u64::MAX >> 1);
            writer.binary(21, b"name");
            writer.nested(22, |inner| {
                inner.truth(1, true);
                inner.truth(2, false);
            });
            writer.list(23, ItemKind::I32, 20);
            (0..20).for_each(|item| writer.number_item(item));
        });
        let mut seen = Vec::new();
        ThriftReader::new(&bytes)
            .structure(|reader, id, kind| {
                seen.push((
                    id,
                    match kind {
                        Kind::Integer => reader.integer()?.to_string(),
                        Kind::Binary => String::from_utf8_lossy(reader.binary()?).into_owned(),
                        Kind::Struct => {
                            let mut truths = Vec::new();
                            reader.structure(|_, id, kind| {
                                truths.push((id, kind));
                                Ok(true)
                            })?;
                            format!("{truths:?}")
                        }
                        Kind::List => {
                            let (length, _) = reader.list()?;
                            (0..length).map(|_| reader.integer()).sum::<Result<i64, _>>()?.to_string()
                        }
                        _ => return Ok(false),
                    },
                ));
                Ok(true)
            })
            .unwrap();
        let expected = [
            (1, "-7"),
            (20, "9223372036854775807"),
            (21, "name"),
            (22, "[(1, True), (2, False)]"),
            (23, "190"),
        ];
        assert_eq!(seen, expected.map(|(id, text)| (id, text.to_owned())));
    }
}
