package adopt

import (
	"context"
	"fmt"
	"slices"

	"retwis/collection"
	"retwis/internal/social/storage"

	"retwis/internal/social/timeline"
)

// convertBatch is how many home timelines one call of Converter.Convert examines.
const convertBatch = 50

// completeHomes makes the home timelines of a Cluster, which expire and can lack posts, complete
// and permanent. It can be interrupted at any time and repeated.
func (d Database) completeHomes(ctx context.Context, progress func(done, total int64)) error {
	total, err := d.client.Do(ctx, d.client.B().Dbsize().Build()).AsInt64()
	if err != nil {
		return err
	}
	lists, err := collection.NewTimelines(d.client, storage.TimelineCap)
	if err != nil {
		return err
	}
	converter, err := timeline.NewConverter(ctx, d.client, lists)
	if err != nil {
		return err
	}
	var done int64
	err = d.keys(ctx, storage.UserPrefix+"*", func(keys []string, seen int64) error {
		version, err := d.layout(ctx)
		if err != nil || version == storage.Version {
			return err // another process has completed them
		}
		var uids []int64
		for _, key := range keys {
			if prefix, uid, ok := storage.ParseKey(key); ok && prefix == storage.UserPrefix {
				uids = append(uids, uid)
			}
		}
		batches := slices.Collect(slices.Chunk(uids, convertBatch))
		if err := storage.AtOnce(len(batches), func(i int) error { return converter.Convert(ctx, batches[i]...) }); err != nil {
			return err
		}
		done += seen
		progress(min(done, total), total)
		return nil
	})
	if err == nil {
		err = converter.End(ctx)
	}
	if err != nil {
		return fmt.Errorf("social: complete the home timelines: %w", err)
	}
	return nil
}
