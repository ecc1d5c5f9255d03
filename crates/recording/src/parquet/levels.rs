//! Small numbers in runs, or packed into bits: levels of repetition and definition, and places in a dictionary.

use std::ops::Range;

use super::ParquetError;

const ENDS: ParquetError = ParquetError::Damaged("a page ends before its last value");

/// Numbers of one width, within the bytes of a page.
#[derive(Clone, Debug, Default)]
pub(super) struct HybridReader {
    at: usize,
    end: usize,
    width: u32,
    run: Run,
}

#[derive(Clone, Debug, Default)]
enum Run {
    #[default]
    Over,
    /// The same number so many times more.
    Repeated { value: u32, left: u64 },
    /// So many numbers more, of which the next begins at this bit.
    Packed { bit: usize, left: u64 },
}

impl HybridReader {
    /// Numbers of so many bits, in this range of a page.
    pub(super) fn new(Range { start, end }: Range<usize>, width: u32) -> Result<Self, ParquetError> {
        if width > 32 {
            return Err(ParquetError::Damaged("numbers of more than 32 bits"));
        }
        Ok(Self { at: start, end, width, run: Run::Over })
    }

    /// The next number. `page` is what the range is of.
    pub(super) fn next(&mut self, page: &[u8]) -> Result<u32, ParquetError> {
        if self.width == 0 {
            return Ok(0);
        }
        loop {
            match &mut self.run {
                Run::Repeated { value, left } if *left > 0 => {
                    *left -= 1;
                    return Ok(*value);
                }
                Run::Packed { bit, left } if *left > 0 => {
                    let value = packed(page, *bit, self.width, self.end)?;
                    *bit += self.width as usize;
                    *left -= 1;
                    return Ok(value);
                }
                _ => self.start_run(page)?,
            }
        }
    }

    fn start_run(&mut self, page: &[u8]) -> Result<(), ParquetError> {
        let head = self.varint(page)?;
        let count = head >> 1;
        self.run = if head & 1 == 0 {
            let length = self.width.div_ceil(8) as usize;
            let bytes = page.get(self.at..self.end).and_then(|rest| rest.get(..length)).ok_or(ENDS)?;
            let value = bytes.iter().rev().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
            self.at += length;
            Run::Repeated { value, left: count }
        } else {
            // Groups of eight; the last may be cut off where no number needs it.
            let bit = self.at * 8;
            let left = count.saturating_mul(8);
            let bytes = count.saturating_mul(u64::from(self.width));
            self.at = usize::try_from(bytes).ok().and_then(|bytes| self.at.checked_add(bytes)).ok_or(ENDS)?;
            Run::Packed { bit, left }
        };
        if count == 0 {
            return Err(ParquetError::Damaged("a run of nothing"));
        }
        Ok(())
    }

    fn varint(&mut self, page: &[u8]) -> Result<u64, ParquetError> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = page.get(self.at).filter(|_| self.at < self.end).ok_or(ENDS)?;
            self.at += 1;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ParquetError::Damaged("a run without a length"))
    }
}

/// The number of so many bits that begins at a bit, the lowest first.
fn packed(page: &[u8], bit: usize, width: u32, end: usize) -> Result<u32, ParquetError> {
    let (first, shift) = (bit / 8, bit % 8);
    let length = (shift + width as usize).div_ceil(8);
    let bytes = page.get(first..first + length).filter(|_| first + length <= end).ok_or(ENDS)?;
    let value = bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    let mask = (1u64 << width) - 1;
    Ok(u32::try_from(value >> shift & mask).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(bytes: &[u8], width: u32, count: usize) -> Result<Vec<u32>, ParquetError> {
        let mut reader = HybridReader::new(0..bytes.len(), width)?;
        (0..count).map(|_| reader.next(bytes)).collect()
    }

    #[test]
    fn runs_and_packed_numbers_follow_each_other() {
        // Three times 5, then eight numbers of three bits: 0 to 7.
        let bytes = [0x06, 5, 0x03, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        assert_eq!(numbers(&bytes, 3, 11).unwrap(), [5, 5, 5, 0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(numbers(&bytes, 3, 12).is_err());
        assert_eq!(numbers(&[], 0, 3).unwrap(), [0, 0, 0]);
    }

    #[test]
    fn runs_that_lie_are_errors() {
        assert!(numbers(&[0x00, 1], 1, 1).is_err());
        assert!(numbers(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 1, 1).is_err());
        assert!(numbers(&[0xff, 0xff, 0xff, 0xff, 0x0f], 32, 1).is_err());
        assert!(numbers(&[0x02], 8, 1).is_err());
        assert!(HybridReader::new(0..1, 33).is_err());
    }
}
