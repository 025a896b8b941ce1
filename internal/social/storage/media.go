package storage

import "retwis/internal/redis/keys"

// The records of package media, of MediaModel in MediaPartitions: see MediaKey.
const (
	MediaModel      = "media"
	MediaPartitions = 64

	// MediaMeta is there as soon as somebody has uploaded a picture.
	MediaMeta = "{" + MediaModel + ".0}.meta"
)

// mediaBases are the beginnings of the keys of MediaModel.
var mediaBases = keys.Spread(MediaModel, MediaPartitions)

// MediaKey is the hash of a picture: a record of package model.
func MediaKey(id string) string {
	return mediaBases[keys.Partition(id, MediaPartitions)] + ":" + id
}
