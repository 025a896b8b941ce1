package unpack

import "bytes"

// kind is a kind of file that a load cannot read.
type kind struct {
	magic  string // the first bytes, with # for a digit
	advice string // how to convert it
}

// foreign lists kinds of files that are not text in UTF-8.
var foreign = []kind{
	{"PK\x03\x04", "a zip archive; unpack it: unzip -p FILE"},
	{"PK\x05\x06", "an empty zip archive"},
	{"\xfd7zXZ\x00", "compressed with xz; decompress it: xz -dc FILE"},
	{"BZh#1AY&SY", "compressed with bzip2; decompress it: bzip2 -dc FILE"},
	{"\x04\x22\x4d\x18", "compressed with lz4; decompress it: lz4 -dc FILE"},
	{"\xff\x06\x00\x00sNaPpY", "compressed with snappy; decompress it: snzip -dc FILE"},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive; unpack it: 7z x -so FILE"},
	{"Rar!\x1a\x07", "a rar archive; unpack it: unrar p -inul FILE"},
	{"LZIP\x01", "compressed with lzip; decompress it: lzip -dc FILE"},
	{"\x1f\x9d", "compressed with compress; decompress it: zcat FILE"},
	{"PAR1\x15", "a Parquet file; " + byDuckDB},
	{"PARE\x15", "an encrypted Parquet file; " + byDuckDB},
	{"ARROW1\x00\x00", "an Arrow file; write it as CSV or NDJSON, for example with pyarrow"},
	{"ORC\x08", "an ORC file; write it as NDJSON, for example with orc-contents"},
	{"\x89HDF\r\n", "an HDF5 file; write it as CSV, for example with h5py"},
	{"Obj\x01", "an Avro file; write it as NDJSON, for example with avro-tools tojson"},
	{"SQLite format 3\x00", "a SQLite database; write its rows as CSV: sqlite3 -csv -header FILE 'SELECT * FROM …'"},
	{"PGDMP", "a dump of PostgreSQL; " + byPsql},
	{"\x6d\xe2\x99\x81", "an archive of mongodump; write a collection as NDJSON: mongoexport --collection …"},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a file of Excel or another Office program; save the sheet as CSV in UTF-8"},
	{"%PDF-", "a PDF; find the data that it was made from"},
	{"\xff\xfe", "text in UTF-16 or UTF-32; convert it: iconv -f UTF-16 -t UTF-8 FILE"},
	{"\xfe\xff", "text in UTF-16; convert it: iconv -f UTF-16 -t UTF-8 FILE"},
	{"\x00\x00\xfe\xff", "text in UTF-32; convert it: iconv -f UTF-32 -t UTF-8 FILE"},
	{"REDIS####", aSnapshot},
	{"VALKEY###", aSnapshot},
}

// foreignText lists kinds of text files. These kinds are checked only when the format is detected:
// in a given format, the same text may be valid.
var foreignText = []kind{
	{"-- MySQL dump", byMySQL},
	{"-- MariaDB dump", byMySQL},
	{"/*!", byMySQL},
	{"/*M!", byMySQL},
	{"--\n-- PostgreSQL database", "a dump of PostgreSQL; " + byPsql},
	{"PRAGMA foreign_keys", "a dump of SQLite, in SQL; write the rows as CSV: sqlite3 -csv -header FILE 'SELECT * FROM …'"},
	{"INSERT INTO ", bySQL},
	{"CREATE TABLE ", bySQL},
	{"<?xml", "XML; write it as NDJSON, for example with yq -p xml -o json -I 0"},
	{"<!DOCTYPE html", "an HTML page, perhaps an error page instead of a download"},
	{"<!doctype html", "an HTML page, perhaps an error page instead of a download"},
	{"<html", "an HTML page, perhaps an error page instead of a download"},
	{"---\n", "YAML; write it as JSON, for example with yq -o json"},
}

const (
	aSnapshot = `a snapshot (RDB), which "retwis load" and the package bulk read (format rdb)`
	byDuckDB  = "write it as CSV: duckdb -csv -c \"FROM 'FILE'\""
	byPsql    = `write the rows as CSV: psql -c "\copy (SELECT * FROM …) TO STDOUT CSV HEADER"`
	byMySQL   = "a dump of MySQL or MariaDB, in SQL; write the rows as TSV: mysql --batch -e 'SELECT * FROM …'"
	bySQL     = "SQL; let the database write the rows as CSV"
)

// CheckHead returns an *Error if the first bytes of an input, 10 or more, show that it is a file
// of another kind, such as an archive. The error names the tool that converts it.
func CheckHead(head []byte) error {
	for _, k := range foreign {
		if !hasMagic(head, k.magic) {
			continue
		}
		if k.magic[:2] == "PK" {
			k.advice = archive(head, k.advice)
		}
		return k.refuse()
	}
	const tarMagic, tarOffset = "ustar", 257
	if len(head) > tarOffset && bytes.HasPrefix(head[tarOffset:], []byte(tarMagic)) {
		return kind{advice: "a tar archive; unpack it: tar -xOf FILE"}.refuse()
	}
	return nil
}

// CheckText is like CheckHead for kinds of text files. head must not begin with white space. Valid
// input in a given format may begin like such a file, so CheckText is only for format detection.
func CheckText(head []byte) error {
	for _, k := range foreignText {
		if hasMagic(head, k.magic) {
			return k.refuse()
		}
	}
	return nil
}

func (k kind) refuse() error { return &Error{"the input is " + k.advice} }

// archive returns advice for a zip archive, which may be a spreadsheet.
func archive(head []byte, advice string) string {
	switch {
	case bytes.Contains(head, []byte("[Content_Types].xml")), bytes.Contains(head, []byte("xl/workbook.xml")):
		return "a file of Excel or another Office program; save the sheet as CSV in UTF-8, or convert it: ssconvert FILE rows.csv"
	case bytes.Contains(head, []byte("opendocument.spreadsheet")):
		return "an OpenDocument spreadsheet; save the sheet as CSV in UTF-8, or convert it: ssconvert FILE rows.csv"
	}
	return advice
}

func hasMagic(head []byte, magic string) bool {
	if len(head) < len(magic) {
		return false
	}
	for i := range len(magic) {
		if digit := '0' <= head[i] && head[i] <= '9'; head[i] != magic[i] && (magic[i] != '#' || !digit) {
			return false
		}
	}
	return true
}
