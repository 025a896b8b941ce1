package entries

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/rueidis"

	"retwis/internal/redis/rediserr"
)

// hashPipeline is the number of hashes read in one pipeline.
const hashPipeline = 1000

// ReadHashes gets the given fields of hashes, or all fields if there are none, in the order of
// keys. A missing hash is nil. If otherTypes is set, keys of other types count as missing. It
// takes one round trip per thousand keys, and one more if a hash has none of the fields.
func ReadHashes(ctx context.Context, client rueidis.Client, keys, fields []string, otherTypes bool) ([]map[string]string, error) {
	all := make([]map[string]string, 0, len(keys))
	for chunk := range slices.Chunk(keys, hashPipeline) {
		commands := make(rueidis.Commands, len(chunk))
		for i, key := range chunk {
			if len(fields) > 0 {
				commands[i] = client.B().Hmget().Key(key).Field(fields...).Build()
			} else {
				commands[i] = client.B().Hgetall().Key(key).Build()
			}
		}
		found := make([]map[string]string, len(chunk))
		var unresolved []int // hashes that may have other fields
		for i, reply := range client.DoMulti(ctx, commands...) {
			hash, err := fieldsOf(reply, fields)
			switch {
			case otherTypes && rediserr.IsWrongType(err):
			case err != nil:
				return nil, fmt.Errorf("%s: %w", chunk[i], err)
			case len(hash) > 0:
				found[i] = hash
			case len(fields) > 0:
				unresolved = append(unresolved, i)
			}
		}
		commands = commands[:0]
		for _, i := range unresolved {
			commands = append(commands, client.B().Exists().Key(chunk[i]).Build())
		}
		for c, reply := range client.DoMulti(ctx, commands...) {
			i := unresolved[c]
			n, err := reply.AsInt64()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", chunk[i], err)
			}
			if n > 0 {
				found[i] = map[string]string{}
			}
		}
		all = append(all, found...)
	}
	return all, nil
}

// fieldsOf decodes the reply of HGETALL, or of HMGET if names are given.
func fieldsOf(reply rueidis.RedisResult, names []string) (map[string]string, error) {
	if len(names) == 0 {
		return reply.AsStrMap()
	}
	values, err := reply.ToArray()
	if err != nil {
		return nil, err
	}
	fields := make(map[string]string, len(names))
	for i, v := range values {
		if v.IsNil() {
			continue
		}
		if fields[names[i]], err = v.ToString(); err != nil {
			return nil, err
		}
	}
	return fields, nil
}
