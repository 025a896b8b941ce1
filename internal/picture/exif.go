package picture

import (
	"bytes"
	"encoding/binary"
)

// exifName precedes the TIFF data of EXIF: always in JPEG, sometimes in other formats.
const exifName = "Exif\x00\x00"

// orientation returns the EXIF orientation of a picture, 1 to 8, or 1 if there is none. It reads
// only one tag of the first directory.
func orientation(exif []byte) int {
	const tag, short = 0x0112, 3
	tiff := bytes.TrimPrefix(exif, []byte(exifName))
	if len(tiff) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if string(tiff[:2]) == "MM" {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(tiff[4:]))
	if order.Uint16(tiff[2:]) != 42 || at > int64(len(tiff)-2) {
		return 1
	}
	entries := tiff[at+2:]
	for range order.Uint16(tiff[at:]) {
		if len(entries) < 12 {
			return 1
		}
		if order.Uint16(entries) == tag && order.Uint16(entries[2:]) == short {
			if o := int(order.Uint16(entries[8:])); 1 <= o && o <= 8 {
				return o
			}
			return 1
		}
		entries = entries[12:]
	}
	return 1
}
