package keys

import "bytes"

// Slots is the number of hash slots of a Cluster.
const Slots = 16384

// Slot returns the hash slot of a key in a Cluster: the CRC16 (XMODEM) of its hash tag, or of the
// whole key.
// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/
func Slot(key []byte) int {
	if open := bytes.IndexByte(key, '{'); open >= 0 {
		if size := bytes.IndexByte(key[open+1:], '}'); size > 0 {
			key = key[open+1 : open+1+size]
		}
	}
	crc := uint16(0)
	for _, b := range key {
		// Process a byte at a time without a table: x combines the high byte of crc and b.
		x := byte(crc>>8) ^ b
		x ^= x >> 4
		crc = crc<<8 ^ uint16(x)<<12 ^ uint16(x)<<5 ^ uint16(x)
	}
	return int(crc) % Slots
}
