package input

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"retwis/bulk/resp"
)

// Digester computes the digest of an input up to places before the end of what was read.
type Digester struct {
	r       io.Reader
	hash    hash.Hash
	base    int64  // number of bytes in hash
	pending []byte // bytes that were read and are not in hash yet
}

func newDigester(r io.Reader) *Digester { return &Digester{r: r, hash: sha256.New()} }

func (d *Digester) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	d.pending = append(d.pending, p[:n]...)
	return n, err
}

// Sum returns the digest of the input up to an offset, which must not decrease.
func (d *Digester) Sum(offset int64) string {
	n := int(offset - d.base)
	d.hash.Write(d.pending[:n])
	d.pending = append(d.pending[:0], d.pending[n:]...)
	d.base = offset
	return hex.EncodeToString(d.hash.Sum(nil))
}

// skip skips the part that a checkpoint covers and rejects an input that differs there.
func (d *Digester) skip(from *Start) error {
	n, err := io.CopyN(d.hash, d.r, from.Offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	d.base = n
	if n < from.Offset || hex.EncodeToString(d.hash.Sum(nil)) != from.SHA256 {
		return &resp.InputError{Offset: n, Msg: "the input is not the one of the checkpoint: it differs before the place where the load stopped; remove the checkpoint to start again"}
	}
	return nil
}
