//! Packets (gitprotocol-common(5)): the length in four hexadecimal digits, itself included, and data. Length 0 ends a message.

/// The longest packet, including its length.
const PACKET_LEN_MAX: usize = 65520;
const LEN_LEN: usize = 4;

/// The longest message that is accepted.
const MESSAGE_LEN_MAX: usize = 64 * 1024;

/// Why received bytes are not a valid message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PacketError {
    /// It does not begin with the length of a packet.
    #[error("no packet")]
    NoPacket,
    /// The message is too long.
    #[error("a message of more than {MESSAGE_LEN_MAX} bytes")]
    TooLong,
}

/// Joins a stream of packets into messages.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    buffer: Vec<u8>,
    message: Vec<u8>,
}

impl Packets {
    /// Adds bytes. Before the next call, call [`Self::take`] until it returns no message.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Takes the next complete message.
    ///
    /// # Errors
    /// The bytes are not a valid message. Whatever follows means nothing.
    pub(crate) fn take(&mut self) -> Result<Option<Vec<u8>>, PacketError> {
        while let Some((digits, rest)) = self.buffer.split_first_chunk::<LEN_LEN>() {
            let len = length(*digits).ok_or(PacketError::NoPacket)?;
            let Some(body_len) = len.checked_sub(LEN_LEN) else {
                // 1 to 3 are special packets of other protocols.
                if len != 0 {
                    return Err(PacketError::NoPacket);
                }
                self.buffer.drain(..LEN_LEN);
                return Ok(Some(std::mem::take(&mut self.message)));
            };
            let message_len = self.message.len().saturating_add(body_len);
            if len > PACKET_LEN_MAX || message_len > MESSAGE_LEN_MAX {
                return Err(PacketError::TooLong);
            }
            let Some(body) = rest.get(..body_len) else {
                return Ok(None);
            };
            self.message.extend_from_slice(body);
            self.buffer.drain(..len);
        }
        Ok(None)
    }
}

/// Parses the hexadecimal length.
fn length(digits: [u8; LEN_LEN]) -> Option<usize> {
    digits.iter().try_fold(0_usize, |sum, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(sum << 4 | digit as usize)
    })
}

/// Encodes `message` as packets.
pub(crate) fn packets(message: &[u8]) -> Vec<u8> {
    let mut packets = Vec::with_capacity(message.len().saturating_add(LEN_LEN * 2));
    for body in message.chunks(PACKET_LEN_MAX - LEN_LEN) {
        let len = body.len().saturating_add(LEN_LEN);
        packets.extend_from_slice(format!("{len:04x}").as_bytes());
        packets.extend_from_slice(body);
    }
    packets.extend_from_slice(b"0000");
    packets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(stream: &[u8], size: usize) -> Result<Vec<Vec<u8>>, PacketError> {
        let mut packets = Packets::default();
        let mut all = Vec::new();
        for piece in stream.chunks(size) {
            packets.feed(piece);
            while let Some(message) = packets.take()? {
                all.push(message);
            }
        }
        Ok(all)
    }

    #[test]
    fn what_is_written_is_read_wherever_the_pieces_end() {
        let long = vec![b'x'; 65_000];
        let want = vec![b"quit".to_vec(), Vec::new(), long];
        let stream: Vec<u8> = want.iter().flat_map(|message| packets(message)).collect();
        assert!(stream.starts_with(b"0008quit00000000fdec"));
        for size in [1, 3, 4, 5, 1000, stream.len()] {
            assert_eq!(messages(&stream, size).as_ref(), Ok(&want));
        }
        // A longer message is split.
        let answer = packets(&vec![b'y'; PACKET_LEN_MAX]);
        assert!(answer.starts_with(b"fff0y"));
        assert!(answer.ends_with(b"0008yyyy0000"));
    }

    #[test]
    fn what_is_no_packet_or_too_long_is_refused() {
        for stream in [&b"quit"[..], b"00 8", b"+008", b"0001", b"0003", b"xyzw"] {
            assert_eq!(messages(stream, 4), Err(PacketError::NoPacket));
        }
        assert_eq!(messages(b"fff1", 4), Err(PacketError::TooLong));
        let twice = [&b"ff00"[..], &[b'x'; 0xfefc], b"ff00"].concat();
        assert_eq!(messages(&twice, 4096), Err(PacketError::TooLong));
        assert_eq!(messages(b"0008qu", 3), Ok(Vec::new()));
    }
}
