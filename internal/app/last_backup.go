package app

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"retwis/internal/social/storage"
)

// backupField is the field of the hash `site` that holds the time of the last backup.
const backupField = "backup"

// BackupDue is the age from which the last backup counts as outdated: a day, plus time for a timer
// with a random delay and for the backup itself.
const BackupDue = 26 * time.Hour

// RecordBackup records that a backup of everything up to a time is complete. It takes one round
// trip.
func (s *App) RecordBackup(ctx context.Context, at time.Time) error {
	err := s.db.Client.Do(ctx, s.db.Client.B().Hset().Key(storage.Site).FieldValue().FieldValue(backupField, storage.Seconds(at)).Build().ToRetryable()).Error()
	if err != nil {
		return fmt.Errorf("social: record a backup: %w", err)
	}
	return nil
}

// LastBackup returns the time of the last backup, or the zero time if there is none. It takes one
// round trip.
func (s *App) LastBackup(ctx context.Context) (time.Time, error) {
	text, err := s.db.Client.Do(ctx, s.db.Client.B().Hget().Key(storage.Site).Field(backupField).Build()).ToString()
	switch {
	case rueidis.IsRedisNil(err):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, fmt.Errorf("social: last backup: %w", err)
	}
	return storage.ParseTime(text), nil
}
