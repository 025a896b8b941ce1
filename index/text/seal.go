package text

import (
	"context"
	"crypto/sha1" // computed by Redis, too
	"encoding/hex"
	"slices"
	"strconv"

	"retwis/index/text/internal/codec"
)

// seal moves ids from a tail to segments until the tail is short. It can be repeated, and stops
// if another process is faster.
func (x writer) seal(ctx context.Context, t termKey) error {
	n := x.names(t)
	keys := []string{n.tail(t.term), n.dir(t.term), n.seg(t.term)}
	for range 10 {
		reply, err := x.scripts.sealing.Run(ctx, x.set.Client, keys, nil).AsStrSlice()
		if err != nil {
			return err
		}
		step, err := x.sealing(reply)
		if err != nil || step == nil {
			return err
		}
		args := append(append(x.set.Args(), t.generation, t.term), step...)
		if err := x.scripts.seal.Run(ctx, x.set.Client, append(x.keys[t.part].All(), keys...), args).Error(); err != nil {
			return err
		}
	}
	return nil
}

// sealing returns the arguments of seal.lua for the reply of sealing.lua, or nil if the tail is
// short. Damaged data is left unchanged for Repair.
func (x writer) sealing(read []string) ([]string, error) {
	if len(read) == 0 {
		return nil, nil
	}
	old, err := codec.ParseTail(read[0])
	if err != nil || old.IDs.Len() < x.sizes.tail || !old.Valid() {
		return nil, nil
	}
	moved := min(old.IDs.Len()-x.sizes.newest, x.sizes.tail-x.sizes.newest)
	ids := old.IDs[:8*moved].IDs()
	base, last, baseID := "", "", int64(0)
	if len(read) == 3 {
		base, last = read[1], read[2]
		s, err := codec.ParseSegment(last)
		if baseID, _ = strconv.ParseInt(base, 10, 64); err != nil || !s.Valid(baseID, ids[0]-1) {
			return nil, nil
		}
		ids = append(slices.Collect(s.IDs), ids...)
	}
	header := codec.Tail{Sealed: old.Sealed + int64(moved), Bound: ids[len(ids)-1]}
	bytes := codec.TailHeader + 8*moved
	args := []string{strconv.Itoa(bytes), sha1hex(read[0][:bytes]), base, sha1hex(last), header.String()}
	for _, c := range codec.Encode(ids, baseID, x.sizes.segment) {
		if c.Data != last {
			args = append(args, strconv.FormatInt(c.Base, 10), c.Data)
		}
	}
	return args, nil
}

func sha1hex(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}
