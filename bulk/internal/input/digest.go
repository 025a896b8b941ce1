package input

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"retwis/bulk/resp"
)

// maxPending is how many bytes of one record a Digester keeps before adding them to the digest.
const maxPending = 1 << 20

// Digester computes digests of an input up to given offsets, while the input may be read beyond
// them. The files of an input are concatenated.
type Digester struct {
	r       io.Reader // the current file
	hash    hash.Hash
	base    int64  // number of bytes in hash
	pending []byte // bytes that were read but are not in hash yet
	end     int64  // last offset at which reading can resume
	endSum  string // digest up to end, if hash is ahead of end
}

func newDigester() *Digester { return &Digester{hash: sha256.New()} }

func (d *Digester) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	d.pending = append(d.pending, p[:n]...)
	return n, err
}

// Sum returns the digest of the input up to an offset, which must not decrease.
func (d *Digester) Sum(offset int64) string {
	if offset == d.end && d.endSum != "" {
		return d.endSum
	}
	d.add(offset)
	return hex.EncodeToString(d.hash.Sum(nil))
}

// add adds the bytes up to an offset.
func (d *Digester) add(offset int64) {
	n := int(offset - d.base)
	d.hash.Write(d.pending[:n])
	d.pending = append(d.pending[:0], d.pending[n:]...)
	d.base = offset
}

// reach records that the input was parsed up to offset, and whether reading can resume there. Sums
// are requested only up to the last resumable offset or the last parsed offset, so the bytes in
// between are not kept.
func (d *Digester) reach(offset int64, resumable bool) {
	if resumable {
		d.end, d.endSum = offset, ""
	}
	if offset-d.base < maxPending {
		return
	}
	if d.endSum == "" {
		d.endSum = d.Sum(d.end)
	}
	d.add(offset)
}

// take adds a whole file.
func (d *Digester) take(r io.Reader) error {
	n, err := io.Copy(d.hash, r)
	d.base += n
	d.end = d.base
	return err
}

// skip skips the first n bytes of the current file, which a checkpoint covers. It returns an error
// if the digest of the input up to that point is not sum.
func (d *Digester) skip(n int64, sum string) error {
	got, err := io.CopyN(d.hash, d.r, n)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	d.base += got
	d.end = d.base
	if got < n || hex.EncodeToString(d.hash.Sum(nil)) != sum {
		return mismatchError(got)
	}
	return nil
}

// mismatchError returns the error for an input that does not match the checkpoint.
func mismatchError(offset int64) error {
	return &resp.InputError{Offset: offset, Msg: "the input does not match the checkpoint: it differs before the place where the load stopped; remove the checkpoint to start again"}
}
