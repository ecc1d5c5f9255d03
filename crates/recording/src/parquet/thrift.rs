//! Thrift's compact protocol, as far as the metadata of Parquet uses it.

use super::ParquetError;

/// How deep structures may stand in each other.
const DEPTH: u32 = 16;

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    True,
    False,
    Byte,
    Integer,
    Double,
    Binary,
    List,
    Map,
    Struct,
}

impl Kind {
    fn of(nibble: u8) -> Result<Self, ParquetError> {
        Ok(match nibble {
            1 => Self::True,
            2 => Self::False,
            3 => Self::Byte,
            4..=6 => Self::Integer,
            7 => Self::Double,
            8 => Self::Binary,
            9 | 10 => Self::List,
            11 => Self::Map,
            12 => Self::Struct,
            _ => return Err(ParquetError::Damaged("a value of no type in its metadata")),
        })
    }
}

/// The end of the bytes, before the end of what stands in them.
pub(super) const ENDS: ParquetError = ParquetError::Damaged("its metadata ends too early");

/// Reads values, one after the other.
#[derive(Debug)]
pub(super) struct ThriftReader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> ThriftReader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    fn byte(&mut self) -> Result<u8, ParquetError> {
        let byte = self.bytes.get(self.at).copied().ok_or(ENDS)?;
        self.at += 1;
        Ok(byte)
    }

    fn unsigned(&mut self) -> Result<u64, ParquetError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ParquetError::Damaged("a number without an end in its metadata"))
    }

    /// A number, whatever its width.
    pub(super) fn integer(&mut self) -> Result<i64, ParquetError> {
        let value = self.unsigned()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    /// A number that is a size or a place.
    pub(super) fn size(&mut self) -> Result<u64, ParquetError> {
        u64::try_from(self.integer()?).map_err(|_| ParquetError::Damaged("a size below zero"))
    }

    pub(super) fn binary(&mut self) -> Result<&'b [u8], ParquetError> {
        let length = usize::try_from(self.unsigned()?).map_err(|_| ENDS)?;
        let end = self.at.checked_add(length).ok_or(ENDS)?;
        let bytes = self.bytes.get(self.at..end).ok_or(ENDS)?;
        self.at = end;
        Ok(bytes)
    }

    /// The fields of a structure. `field` reads the value of those that it knows, and says whether it did.
    pub(super) fn structure(
        &mut self,
        mut field: impl FnMut(&mut Self, i64, Kind) -> Result<bool, ParquetError>,
    ) -> Result<(), ParquetError> {
        let mut id = 0i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            let delta = i64::from(head >> 4);
            id = if delta == 0 { self.integer()? } else { id.saturating_add(delta) };
            let kind = Kind::of(head & 0x0f)?;
            if !field(self, id, kind)? {
                self.skip(kind, 0)?;
            }
        }
    }

    /// How many items a list has, and what they are. Each takes a byte at least.
    pub(super) fn list(&mut self) -> Result<(usize, Kind), ParquetError> {
        let head = self.byte()?;
        let length = match head >> 4 {
            15 => self.unsigned()?,
            short => u64::from(short),
        };
        let length = usize::try_from(length).map_err(|_| ENDS)?;
        if length > self.bytes.len().saturating_sub(self.at) {
            return Err(ENDS);
        }
        Ok((length, Kind::of(head & 0x0f)?))
    }

    fn skip(&mut self, kind: Kind, depth: u32) -> Result<(), ParquetError> {
        if depth > DEPTH {
            return Err(ParquetError::Damaged("its metadata is nested too deep"));
        }
        match kind {
            Kind::True | Kind::False => {}
            Kind::Byte => _ = self.byte()?,
            Kind::Integer => _ = self.unsigned()?,
            Kind::Double => {
                for _ in 0..8 {
                    self.byte()?;
                }
            }
            Kind::Binary => _ = self.binary()?,
            Kind::List => {
                let (length, kind) = self.list()?;
                for _ in 0..length {
                    self.skip_item(kind, depth)?;
                }
            }
            Kind::Map => {
                let length = self.unsigned()?;
                if length > 0 {
                    let kinds = self.byte()?;
                    let (key, value) = (Kind::of(kinds >> 4)?, Kind::of(kinds & 0x0f)?);
                    for _ in 0..length {
                        self.skip_item(key, depth)?;
                        self.skip_item(value, depth)?;
                    }
                }
            }
            Kind::Struct => loop {
                let head = self.byte()?;
                if head == 0 {
                    break;
                }
                if head >> 4 == 0 {
                    self.unsigned()?;
                }
                self.skip(Kind::of(head & 0x0f)?, depth + 1)?;
            },
        }
        Ok(())
    }

    /// Within lists and maps a truth value takes a byte.
    fn skip_item(&mut self, kind: Kind, depth: u32) -> Result<(), ParquetError> {
        match kind {
            Kind::True | Kind::False => self.byte().map(|_| ()),
            kind => self.skip(kind, depth + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_skipped() {
        // 1: i32 -2; 2: list of two texts; 5: a structure with a map in it; then the end.
        let bytes = [0x15, 0x03, 0x19, 0x28, 1, b'a', 1, b'b', 0x3c, 0x1b, 1, 0x85, 1, b'k', 2, 0x00, 0x00];
        let mut reader = ThriftReader::new(&bytes);
        let mut seen = Vec::new();
        let read = reader.structure(|reader, id, kind| {
            seen.push((id, kind));
            if id == 1 {
                assert_eq!(reader.integer().unwrap(), -2);
            }
            Ok(id == 1)
        });
        read.unwrap();
        assert_eq!(seen, [(1, Kind::Integer), (2, Kind::List), (5, Kind::Struct)]);
        assert_eq!(reader.position(), bytes.len());
    }

    #[test]
    fn lengths_that_lie_are_errors() {
        let skip = |bytes: &[u8]| ThriftReader::new(bytes).structure(|_, _, _| Ok(false));
        // A list of 2^60 items, a text of 2^40 bytes, a number of eleven bytes, a type that is none, structures without an end.
        assert!(skip(&[0x19, 0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]).is_err());
        assert!(skip(&[0x18, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, b'x']).is_err());
        assert!(skip(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]).is_err());
        assert!(skip(&[0x1f]).is_err());
        assert!(skip(&[0x1c; 100]).is_err());
        assert!(skip(&[0x19, 0x19, 0x19, 0x19, 0x19, 0x19, 0x19, 0x19, 0x19, 0x19]).is_err());
    }
}
