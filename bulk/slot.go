package bulk

import "bytes"

// slots is how many slots a Redis Cluster has.
const slots = 16384

// slot is that of a key in a Cluster: the CRC16 (XMODEM) of the key, or of its hash
// tag, the part between the first { and the next } if there is something.
// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
func slot(key []byte) int {
	if open := bytes.IndexByte(key, '{'); open >= 0 {
		if size := bytes.IndexByte(key[open+1:], '}'); size > 0 {
			key = key[open+1 : open+1+size]
		}
	}
	crc := uint16(0)
	for _, b := range key {
		// A byte at a time without a table: x is the high byte and b, folded.
		x := byte(crc>>8) ^ b
		x ^= x >> 4
		crc = crc<<8 ^ uint16(x)<<12 ^ uint16(x)<<5 ^ uint16(x)
	}
	return int(crc) % slots
}
