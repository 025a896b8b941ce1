package storage

import "retwis/internal/redis/keys"

// The records of package media: MediaModel, in MediaPartitions partitions; see MediaKey.
const (
	MediaModel      = "media"
	MediaPartitions = 64

	// MediaMeta exists once a user has uploaded a picture.
	MediaMeta = "{" + MediaModel + ".0}.meta"
)

// mediaBases are the key prefixes of MediaModel.
var mediaBases = keys.Spread(MediaModel, MediaPartitions)

// MediaKey is the hash of a picture: a record of package model.
func MediaKey(id string) string {
	return mediaBases[keys.Partition(id, MediaPartitions)] + ":" + id
}
